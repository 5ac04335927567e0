// Where PyTorch's documentation of a function is. Only pages that exist: one for each function, by its full name.

/** Of `torch`, and methods of `torch.Tensor`. */
const EITHER = (
  "abs absolute acos acosh add addbmm addcdiv addcmul addmm addmv addr adjoint all allclose amax amin aminmax " +
  "angle any arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax argmin argsort argwhere " +
  "as_strided_scatter asin asinh atan atan2 atanh baddbmm bernoulli bincount bitwise_and bitwise_left_shift " +
  "bitwise_not bitwise_or bitwise_right_shift bitwise_xor bmm broadcast_to ceil cholesky cholesky_inverse " +
  "cholesky_solve chunk clamp clip clone conj conj_physical copysign corrcoef cos cosh count_nonzero cov cross " +
  "cummax cummin cumprod cumsum deg2rad dequantize det diag diag_embed diagflat diagonal diagonal_scatter diff " +
  "digamma dist div divide dot dsplit eq equal erf erfc erfinv exp exp2 expm1 fix flatten flip fliplr flipud " +
  "float_power floor floor_divide fmax fmin fmod frac frexp gather gcd ge geqrf ger greater greater_equal gt " +
  "heaviside histc hsplit hypot i0 igamma igammac index_add index_select inner inverse is_complex is_conj " +
  "is_floating_point is_inference isclose isfinite isinf isnan isneginf isposinf isreal istft kron kthvalue lcm " +
  "ldexp le lerp less less_equal lgamma log log10 log1p log2 logaddexp logaddexp2 logcumsumexp logdet " +
  "logical_and logical_not logical_or logical_xor logit logsumexp lt lu lu_solve masked_select matmul " +
  "matrix_exp matrix_power max maximum mean median min minimum mm mode moveaxis movedim msort mul multinomial " +
  "multiply mv mvlgamma nan_to_num nanmean nanmedian nanquantile nansum narrow ne neg negative nextafter " +
  "nonzero nonzero_static norm not_equal numel orgqr ormqr outer permute pinverse polygamma positive pow prod " +
  "qr quantile rad2deg ravel reciprocal remainder renorm repeat_interleave reshape resolve_conj resolve_neg " +
  "roll rot90 round rsqrt scatter scatter_add scatter_reduce select select_scatter sgn sigmoid sign signbit sin " +
  "sinc sinh slice_scatter slogdet softmax sort split sqrt square squeeze std stft sub subtract sum svd " +
  "swapaxes swapdims t take take_along_dim tan tanh tensor_split tile topk trace transpose triangular_solve " +
  "tril triu true_divide trunc unbind unique unique_consecutive unsafe_chunk unsafe_split unsqueeze var vdot " +
  "vsplit where xlogy"
).split(" ");

const FUNCTIONS = (
  "arange as_tensor asarray atleast_1d atleast_2d atleast_3d bartlett_window blackman_window block_diag " +
  "broadcast_tensors bucketize cartesian_prod cat cdist chain_matmul column_stack combinations complex concat " +
  "concatenate cumulative_trapezoid dstack einsum empty empty_like empty_strided eye " +
  "fake_quantize_per_channel_affine fake_quantize_per_tensor_affine from_numpy frombuffer full full_like " +
  "gradient hamming_window hann_window histogram histogramdd hspmm hstack imag index_reduce isin kaiser_window " +
  "linspace lobpcg logspace lu_unpack meshgrid ones ones_like pca_lowrank poisson polar quantize_per_channel " +
  "quantize_per_tensor quantize_per_tensor_dynamic quantized_batch_norm quantized_max_pool1d " +
  "quantized_max_pool2d rand randint randn randperm real row_stack searchsorted sparse_coo_tensor " +
  "sparse_csr_tensor stack std_mean svd_lowrank tensor tensordot trapezoid trapz tril_indices triu_indices " +
  "unflatten unravel_index var_mean view_as_complex view_as_real vstack zeros zeros_like"
).split(" ");

const METHODS = (
  "abs_ acos_ acosh_ add_ addbmm_ addcdiv_ addcmul_ addmm_ addmv_ addr_ arccos_ arccosh_ arcsin_ arcsinh_ " +
  "arctan2_ arctan_ arctanh_ as_strided as_strided_ asin_ asinh_ atan2_ atan_ atanh_ backward baddbmm_ " +
  "bernoulli_ bfloat16 bitwise_and_ bitwise_left_shift_ bitwise_not_ bitwise_or_ bitwise_right_shift_ " +
  "bitwise_xor_ bool byte cauchy_ cdouble ceil_ cfloat chalf char clamp_ clip_ coalesce col_indices " +
  "conj_physical_ contiguous copy_ copysign_ cos_ cosh_ cpu crow_indices cumprod_ cumsum_ deg2rad_ dense_dim " +
  "detach detach_ digamma_ dim div_ divide_ double eq_ erf_ erfc_ erfinv_ exp2_ exp_ expand expand_as expm1_ " +
  "exponential_ fill_ fill_diagonal_ fix_ float float_power_ floor_ floor_divide_ fmod_ frac_ gcd_ ge_ " +
  "geometric_ greater_ greater_equal_ gt_ half heaviside_ hypot_ i0_ igamma_ igammac_ index_add_ index_copy " +
  "index_copy_ index_fill index_fill_ index_put index_put_ index_reduce_ indices int int_repr is_coalesced " +
  "is_contiguous is_neg is_set_to is_shared is_signed item lcm_ ldexp_ le_ lerp_ less_ less_equal_ lgamma_ " +
  "log10_ log1p_ log2_ log_ log_normal_ logical_and_ logical_not_ logical_or_ logical_xor_ logit_ long lt_ " +
  "masked_fill masked_fill_ masked_scatter masked_scatter_ mul_ multiply_ mvlgamma_ nan_to_num_ narrow_copy " +
  "ndimension ne_ neg_ negative_ nelement new_empty new_full new_ones new_tensor new_zeros nextafter_ normal_ " +
  "not_equal_ numpy pin_memory polygamma_ pow_ put put_ q_per_channel_axis q_per_channel_zero_points q_scale " +
  "q_zero_point qscheme rad2deg_ random_ reciprocal_ remainder_ renorm_ repeat requires_grad_ reshape_as " +
  "resize_ resize_as_ retain_grad round_ rsqrt_ scatter_ scatter_add_ scatter_reduce_ set_ sgn_ short sigmoid_ " +
  "sign_ sin_ sinc_ sinh_ size sparse_dim sparse_mask sqrt_ square_ squeeze_ storage_offset sub_ subtract_ " +
  "sum_to_size swapaxes_ swapdims_ t_ tan_ tanh_ to to_dense to_mkldnn to_sparse tolist transpose_ tril_ triu_ " +
  "true_divide_ trunc_ type type_as unfold uniform_ unsqueeze_ values view view_as xlogy_ zero_"
).split(" ");

const NETWORKS = (
  "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d " +
  "adaptive_max_pool3d affine_grid alpha_dropout avg_pool1d avg_pool2d avg_pool3d batch_norm bilinear " +
  "binary_cross_entropy binary_cross_entropy_with_logits celu conv1d conv2d conv3d conv_transpose1d " +
  "conv_transpose2d conv_transpose3d cosine_embedding_loss cosine_similarity cross_entropy ctc_loss dropout " +
  "dropout1d dropout2d dropout3d elu elu_ embedding embedding_bag feature_alpha_dropout fold " +
  "fractional_max_pool2d fractional_max_pool3d gaussian_nll_loss gelu glu grid_sample group_norm gumbel_softmax " +
  "hardshrink hardsigmoid hardswish hardtanh hardtanh_ hinge_embedding_loss huber_loss instance_norm " +
  "interpolate kl_div l1_loss layer_norm leaky_relu leaky_relu_ linear local_response_norm log_softmax " +
  "logsigmoid lp_pool1d lp_pool2d lp_pool3d margin_ranking_loss max_pool1d max_pool2d max_pool3d max_unpool1d " +
  "max_unpool2d max_unpool3d mish mse_loss multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss " +
  "nll_loss normalize one_hot pad pairwise_distance pdist pixel_shuffle pixel_unshuffle poisson_nll_loss prelu " +
  "relu relu6 relu_ rms_norm rrelu rrelu_ scaled_dot_product_attention selu sigmoid silu smooth_l1_loss " +
  "soft_margin_loss softmax softmin softplus softshrink softsign tanh tanhshrink threshold threshold_ " +
  "triplet_margin_loss triplet_margin_with_distance_loss unfold upsample"
).split(" ");

const ALGEBRA = (
  "cholesky cholesky_ex cond cross det diagonal eig eigh eigvals eigvalsh householder_product inv inv_ex " +
  "ldl_factor ldl_factor_ex ldl_solve lstsq lu lu_factor lu_factor_ex lu_solve matmul matrix_exp matrix_norm " +
  "matrix_power matrix_rank multi_dot norm pinv qr slogdet solve solve_ex solve_triangular svd svdvals " +
  "tensorinv tensorsolve vander vecdot vector_norm"
).split(" ");

const FOURIER = (
  "fft fft2 fftfreq fftn fftshift hfft hfft2 hfftn ifft ifft2 ifftn ifftshift ihfft ihfft2 ihfftn irfft irfft2 " +
  "irfftn rfft rfft2 rfftfreq rfftn"
).split(" ");

const PAGES = new Set([
  ...[...EITHER, ...FUNCTIONS].map((name) => `torch.${name}`),
  ...[...EITHER, ...METHODS].map((name) => `torch.Tensor.${name}`),
  ...NETWORKS.map((name) => `torch.nn.functional.${name}`),
  ...ALGEBRA.map((name) => `torch.linalg.${name}`),
  ...FOURIER.map((name) => `torch.fft.${name}`),
]);

/** Operators of Python, whose functions have other names. */
const SPOKEN: Readonly<Record<string, string>> = {
  __and__: "bitwise_and",
  __eq__: "eq",
  __floordiv__: "floor_divide",
  __invert__: "bitwise_not",
  __lshift__: "bitwise_left_shift",
  __ne__: "ne",
  __or__: "bitwise_or",
  __pow__: "pow",
  __rshift__: "bitwise_right_shift",
  __xor__: "bitwise_xor",
};

export function torchPage(primitive: string): string | undefined {
  const name = primitive.replace(/^torch\.Tensor\.(__\w+__)$/, (all, spoken: string) =>
    SPOKEN[spoken] ? `torch.Tensor.${SPOKEN[spoken]}` : all,
  );
  // `torch.relu`, `torch.conv2d` and `x.relu()` are described where networks have them.
  const known = [name, name.replace(/^torch\.(Tensor\.)?(?=\w+$)/, "torch.nn.functional.")].find((page) =>
    PAGES.has(page),
  );
  return known && `https://docs.pytorch.org/docs/stable/generated/${known}.html`;
}
