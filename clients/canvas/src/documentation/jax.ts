// Where JAX's documentation of a primitive is. Only pages that exist: the operators of `jax.lax`, by the primitive's name.

const OPERATORS = new Set(
  (
    "abs acos acosh add after_all all_gather all_to_all argmax argmin asin asinh atan atan2 atanh axis_index bessel_i0e " +
    "bessel_i1e bitcast_convert_type broadcast_in_dim cbrt ceil clamp clz complex concatenate cond conj " +
    "conv_general_dilated convert_element_type cos cosh cumlogsumexp cummax cummin cumprod cumsum custom_linear_solve " +
    "digamma div dot_general dynamic_slice dynamic_update_slice eq erf erf_inv erfc exp exp2 expm1 fft floor gather ge " +
    "gt igamma igammac imag integer_pow iota is_finite le lgamma log log1p logistic lt max min mul ne neg nextafter " +
    "optimization_barrier pad pmax pmin polygamma population_count pow ppermute psum ragged_dot_general real reduce " +
    "reduce_and reduce_max reduce_min reduce_or reduce_precision reduce_prod reduce_sum reduce_window reduce_xor rem " +
    "reshape rev rng_bit_generator rng_uniform round rsqrt scan scatter select_n shift_left shift_right_arithmetic " +
    "shift_right_logical sign sin sinh slice sort split sqrt square squeeze stop_gradient sub tan tanh top_k transpose zeta"
  ).split(" "),
);

/** Primitives whose operator has another name. */
const RENAMED: Readonly<Record<string, string>> = {
  add_any: "add",
  and: "bitwise_and",
  approx_top_k: "approx_max_k",
  not: "bitwise_not",
  or: "bitwise_or",
  regularized_incomplete_beta: "betainc",
  "scatter-add": "scatter_add",
  "scatter-max": "scatter_max",
  "scatter-min": "scatter_min",
  "scatter-mul": "scatter_mul",
  "scatter-sub": "scatter_sub",
  scatter_add: "scatter_add",
  while: "while_loop",
  xor: "bitwise_xor",
};

export function jaxPage(primitive: string): string | undefined {
  const page = RENAMED[primitive] ?? (OPERATORS.has(primitive) ? primitive : undefined);
  return page && `https://docs.jax.dev/en/latest/_autosummary/jax.lax.${page}.html`;
}
