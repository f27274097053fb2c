"""Results of simulations for people: a table for a terminal, and a page for a browser."""
