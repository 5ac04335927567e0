// Where the documentation of a primitive is.
import { jaxPage } from "./documentation/jax";
import { torchPage } from "./documentation/torch";

export interface Page {
  library: string;
  address: string;
}

export function documentation(primitive: string): Page | undefined {
  const jax = jaxPage(primitive);
  if (jax) return { library: "jax.lax", address: jax };
  const torch = torchPage(primitive);
  return torch ? { library: "PyTorch", address: torch } : undefined;
}
