"""TensorViz language server: opens JAX, Flax and PyTorch models as graphs from any LSP editor."""

__version__ = "0.1.0"
