"""Plans in words: tables for people, and remedies, which are changes that `decide` has tried."""
