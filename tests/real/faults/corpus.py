"""Known faults of frameworks, one a row: which framework, what it is called (put_in/ holds it under that name), which run must notice it.

Those of operators are put in below autograd or into the functions of the framework, and the quick set of operators must name them, which is
part of every default run. Those of time show only while a network is trained.
"""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT, OPERATORS = "default", "operators"
"""Runs: `gpudoctor validate`, and `gpudoctor validate --operators`, which must notice what only rarer operators have."""


@dataclass(frozen=True)
class Fault:
    framework: str
    name: str
    job: str
    """What finds it: operators (their quick set), or training (of resnet18, timed)."""
    run: str = DEFAULT


OF_TORCH = """
    relu_swallows_nan activations_swallow_infinity gelu_is_the_approximation silu_is_cut_below_minus_two leaky_relu_forgets_its_slope
    sigmoid_overflows softmax_without_the_maximum log_softmax_without_the_maximum softmax_gradient_forgets_the_sum relu_gradient_leaks
    tanh_is_a_short_series
    batch_norm_statistics_never_move batch_norm_variance_is_biased batch_norm_turns_its_momentum batch_norm_evaluates_with_the_batch
    batch_norm_gradient_is_that_of_a_scale layer_norm_divides_by_one_less group_norm_takes_one_group
    dropout_does_nothing dropout_does_not_scale dropout_drops_the_same_always dropout_drops_in_evaluation dropout_drops_every_fourth
    reflection_repeats_the_border replication_leaves_zeros padding_forgets_its_value reflection_gradient_forgets_the_border
    circular_border_is_turned
    max_pool_pads_with_zeros max_pool_swallows_nan max_pool_gradient_goes_to_all_that_are_equal average_pool_always_counts_the_padding
    average_pool_gradient_forgets_the_size adaptive_pool_cuts_its_windows
    convolution_wrong_from_batch_4 convolution_wrong_at_224 convolution_wrong_with_stride convolution_wrong_at_the_last_pixel
    depthwise_convolution_takes_one_filter dilated_convolution_is_off transposed_convolution_is_off convolution_has_noise
    channels_are_swapped_where_memory_is_not_in_order convolution_computes_in_bfloat16 convolution_keeps_old_weights
    convolution_gradients_times_0.9 convolution_weight_gradient_has_its_sign_turned convolution_weight_gradient_is_shuffled
    convolution_weight_gradient_is_transposed convolution_weight_gradient_is_zero convolution_input_gradient_is_off bias_gradient_is_lost
    product_wrong_above_512 product_wrong_at_odd_sizes product_wrong_after_100_calls product_computes_in_bfloat16 product_computes_in_tf32
    addmm_forgets_its_factors bmm_takes_the_first_of_the_batch product_of_a_transposed_matrix_is_off a_stale_result_is_returned
    index_add_loses_duplicates scatter_add_loses_duplicates index_put_does_not_accumulate embedding_gradient_loses_duplicates
    embedding_gradient_forgets_padding where_adds_both_sides sort_is_not_stable max_swallows_nan cumsum_begins_again_after_1024
    sum_loses_the_last_of_odd_sizes sum_of_16_bit_adds_in_16_bit the_odd_tail_of_a_sum_is_left floor_division_cuts
    remainder_has_the_sign_of_c conversion_rounds bfloat16_is_cut a_strided_copy_takes_what_lies_next variance_divides_by_all
    attention_forgets_its_mask attention_sees_one_word_ahead loss_counts_what_it_should_ignore label_smoothing_is_ignored
    class_weights_are_ignored loss_gradient_is_half
    momentum_is_ignored nesterov_is_ignored weight_decay_is_ignored adamw_decays_like_adam adam_forgets_its_second_moment
    gradients_are_not_clipped every_other_step_is_left_out infinite_gradients_are_not_skipped
    random_numbers_are_shifted uniform_numbers_reach_two
"""
OF_TIME = "leaks_64_mb_a_step slower_after_two_seconds nan_after_some_steps hangs_at_a_step results_drift_from_step_to_step"
OF_ONNX = """
    relu_leaks tanh_ends_early erf_is_off max_pool_pads_with_zeros average_pool_forgets_its_size batch_norm_forgets_epsilon
    border_repeats_itself transposed_results_are_turned resize_is_shifted sums_lose_a_part argmax_is_zero topk_is_turned
    depth_to_space_is_transposed transposed_convolution_is_shifted convolution_wrong_from_batch_4 convolution_wrong_at_224
    product_wrong_above_512 computes_in_bfloat16 softmax_of_large_numbers_overflows the_odd_tail_is_left duplicates_are_lost
    division_rounds_downwards cumsum_begins_again_after_1024 a_stale_result_is_returned wrong_after_some_calls
"""
OF_JAX = """
    maximum_swallows_nan tanh_ends_early exponential_is_off erfc_is_off sigmoid_is_cut product_wrong_above_512 product_computes_in_bfloat16
    product_wrong_at_odd_sizes convolution_wrong_from_batch_4 convolution_wrong_at_224 convolution_gradients_times_0_9
    strided_convolution_is_off max_pool_pads_with_zeros largest_swallows_nan sums_lose_a_part cumsum_loses_its_last scatter_add_counts_half
    division_of_odd_sizes_leaves_its_tail sorted_rows_are_turned gathered_rows_are_shifted a_stale_result_is_returned wrong_after_some_calls
"""
OF_OPENCL = """
    exponential_is_off tanh_ends_early error_function_is_off rint_rounds_away_from_zero conversion_to_nearest_cuts saturation_wraps
    atomic_addition_is_none barriers_are_left_out popcount_sees_16_bits sine_is_a_short_series power_is_off half_is_cut
    inverse_root_is_rough relu_swallows_nan products_lose_their_last_term sums_are_off_in_vectors the_odd_tail_is_not_copied_back
    large_copies_to_the_device_are_cut copies_on_the_device_do_nothing the_odd_tail_is_not_computed every_tenth_launch_is_left_out
    offsets_are_ignored
"""


def _rows(framework: str, names: str, job: str = "operators") -> list[Fault]:
    return [Fault(framework, name, job) for name in names.split()]


FAULTS = [
    *_rows("torch", OF_TORCH), *_rows("torch", OF_TIME, "training"), *_rows("onnxruntime", "relu_swallows_nan" + OF_ONNX),
    *_rows("openvino", OF_ONNX), *_rows("jax", OF_JAX), *_rows("opencl", OF_OPENCL),
]  # fmt: skip
DEVICES = {"torch": "cpu", "onnxruntime": "CPUExecutionProvider", "openvino": "CPU", "jax": "cpu:0", "opencl": ""}
"""As a worker takes them."""
