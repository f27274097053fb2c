"""The answer before submission: would this fit, where, at whose cost, and else when, or with which change."""
