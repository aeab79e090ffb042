"""What Frazil tells of its work: lines of a log, metrics, spans."""
