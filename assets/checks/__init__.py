"""Asset checks: the comparisons of the layers, and the rights that the doctor asks for."""
