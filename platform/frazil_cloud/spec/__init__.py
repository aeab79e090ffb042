"""What a user says of deployments, in a folder of each, and what their objects are called."""
