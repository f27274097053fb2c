"""Reservations that people make, as they ask for them and see them."""
