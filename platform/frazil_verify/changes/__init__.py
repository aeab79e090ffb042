"""Of the changes of keys those that count, and what rows these leave."""
