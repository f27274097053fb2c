"""What a cluster does to its gangs, whatever schedules it: from what can be read, and nothing is touched."""
