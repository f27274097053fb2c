"""When hardware fails: which groups are hurt, whose fault it is, and what becomes of each as a whole."""
