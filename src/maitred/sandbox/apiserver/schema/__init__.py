"""What objects look like: the types of the API, and what follows from them alone."""
