"""Claims to devices are made from templates and let go of; pods leave devices that are tainted."""
