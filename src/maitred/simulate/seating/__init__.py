"""Who gets seats: whole groups by `decide`, and the rules of others beside it for comparison."""
