"""The faces of the product: what people and programs see of it."""
