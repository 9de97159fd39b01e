/* All kernels, and the table of them; included by each `level_*.c`. */
#include "product.c"
#include "ordered.c"
#include "elementwise.c"
#include "reduce.c"
#include "softmax.c"
#include "smooth.c"
#include "rows.c"
#include "strings.c"
#include "distinct.c"
#include "scatter.c"
#include "segments.c"
#include "cells.c"
#include "cell_math.c"
#include "window.c"
#include "norm.c"
#include "random.c"
#include "matmul.c"
#include "lstm.c"
#include "panels.c"
#include "primitives.c"
#include "series.c"
#include "attention.c"
#include "paged.c"
#include "update.c"
#include "split.c"
#include "spelling.c"
#include "csv.c"
#include "texts.c"
#include "linalg.c"
#include "images.c"
#include "crops.c"
#include "colors.c"
#include "reversed.c"
#include "sequences.c"

#define NAMED(name) {#name, k_##name}

const Kernel TABLE[] = {
    NAMED(add), NAMED(bias_add), NAMED(bias_add_grad), NAMED(sub), NAMED(mul), NAMED(divide), NAMED(maximum), NAMED(minimum), NAMED(add_n), NAMED(select),
    NAMED(negative), NAMED(square), NAMED(sqrt), NAMED(rsqrt), NAMED(exp), NAMED(log), NAMED(tanh), NAMED(sigmoid), NAMED(relu),
    NAMED(relu_grad), NAMED(tanh_grad), NAMED(sigmoid_grad),
    NAMED(cast_f4), NAMED(cast_f8), NAMED(cast_i4), NAMED(cast_i8), NAMED(cast_b1),
    NAMED(sum), NAMED(mean), NAMED(max), NAMED(min), NAMED(cumsum), NAMED(softmax), NAMED(erf), NAMED(gelu), NAMED(gelu_tanh), NAMED(swish), NAMED(standardized), NAMED(layer_norm_grad), NAMED(layer_norm_scale_grad), NAMED(softmax_grad),
    NAMED(cross_entropy),
    NAMED(series),
    NAMED(gather), NAMED(one_hot), NAMED(argmax), NAMED(top_k), NAMED(slice), NAMED(join), NAMED(ordered),
    NAMED(scatter_add), NAMED(scatter_sub), NAMED(scatter_update), NAMED(unsorted_segment_sum), NAMED(segment_sum),
    NAMED(unique), NAMED(sum_duplicates),
    NAMED(max_pool), NAMED(max_pool_grad), NAMED(depthwise), NAMED(depthwise_to_images), NAMED(depthwise_to_weights),
    NAMED(batch_norm), NAMED(batch_norm_by), NAMED(batch_norm_grad), NAMED(uniform), NAMED(normal), NAMED(truncated_normal), NAMED(matmul), NAMED(primitives), NAMED(prepared), NAMED(parts), NAMED(product), NAMED(lstm), NAMED(lstm_grad), NAMED(attention), NAMED(head_products), NAMED(paged_attention), NAMED(rotary),
    NAMED(descend), NAMED(update), NAMED(buckets), NAMED(split), NAMED(sparse_segment_sum), NAMED(sparse_segment_mean), NAMED(sparse_segment_sqrt_n), NAMED(segment_mean),
    NAMED(cholesky), NAMED(triangular), NAMED(solve), NAMED(determinant), NAMED(qr), NAMED(eigh),
    NAMED(resized), NAMED(resized_back), NAMED(boxes), NAMED(strong_buckets), NAMED(numbers_of), NAMED(lowered), NAMED(glued),
    NAMED(lengths), NAMED(old_buckets), NAMED(spelled), NAMED(csv), NAMED(letter_counts), NAMED(stripped), NAMED(cut), NAMED(joined_along),
    NAMED(segments_joined), NAMED(indexed), NAMED(looked_up), NAMED(as_strings), NAMED(classes_replaced),
    NAMED(cells_ordered), NAMED(cells_joined), NAMED(cells_sliced), NAMED(cells_filled), NAMED(cells_reshaped), NAMED(cells_merged), NAMED(cells_sum_grad),
    NAMED(cells_dense), NAMED(cells_added), NAMED(cells_met), NAMED(cells_reduced), NAMED(cells_softmax),
    NAMED(unsorted_segment_extreme), NAMED(sparse_product),
    NAMED(crops_to_images), NAMED(crops_to_boxes), NAMED(hues), NAMED(reds), NAMED(reversed), NAMED(ctc),
    {NULL, NULL},
};
