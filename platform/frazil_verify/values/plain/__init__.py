"""Values without parts: what each format writes for them, and what of that is none."""
