"""The asset graph: one module per kind of asset, and the components that make them."""
