module @fulgurite {
  func.func public @main(%0: tensor<2x6x6x2xf32>, %1: tensor<3x3x1x4xf32>) -> (tensor<2x3x3x4xf32>, tensor<2x3x3x2xf32>, tensor<2x6x6x2xf32>, tensor<3x3x1x4xf32>) {
    %3 = "stablehlo.convolution"(%0, %1) {window_strides = array<i64: 2, 2>, padding = dense<[[1, 1], [1, 1]]> : tensor<2x2xi64>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 2 : i64, batch_group_count = 1 : i64} : (tensor<2x6x6x2xf32>, tensor<3x3x1x4xf32>) -> tensor<2x3x3x4xf32> loc("conv"("HERE"))
    %5 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<f32>} : () -> tensor<f32> loc("avg_pool"("HERE"))
    %4 = "stablehlo.reduce_window"(%0, %5) ({
    ^bb0(%6: tensor<f32>, %7: tensor<f32>):
      %8 = "stablehlo.add"(%6, %7) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%8) : (tensor<f32>) -> ()
    }) {window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>, base_dilations = array<i64: 1, 1, 1, 1>, padding = dense<[[0, 0], [0, 0], [0, 0], [0, 0]]> : tensor<4x2xi64>} : (tensor<2x6x6x2xf32>, tensor<f32>) -> tensor<2x3x3x2xf32> loc("avg_pool"("HERE"))
    %9 = "stablehlo.constant"() {value = dense<2.500000000e-01> : tensor<2x3x3x2xf32>} : () -> tensor<2x3x3x2xf32> loc("full"("HERE"))
    %10 = "stablehlo.multiply"(%4, %9) : (tensor<2x3x3x2xf32>, tensor<2x3x3x2xf32>) -> tensor<2x3x3x2xf32> loc("mul"("HERE"))
    %12 = "stablehlo.constant"() {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32> loc("max_pool"("HERE"))
    %11 = "stablehlo.reduce_window"(%0, %12) ({
    ^bb0(%13: tensor<f32>, %14: tensor<f32>):
      %15 = "stablehlo.maximum"(%13, %14) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%15) : (tensor<f32>) -> ()
    }) {window_dimensions = array<i64: 1, 3, 3, 1>, window_strides = array<i64: 1, 2, 2, 1>, base_dilations = array<i64: 1, 1, 1, 1>, padding = dense<[[0, 0], [1, 1], [1, 1], [0, 0]]> : tensor<4x2xi64>} : (tensor<2x6x6x2xf32>, tensor<f32>) -> tensor<2x3x3x2xf32> loc("max_pool"("HERE"))
    %16 = "stablehlo.constant"() {value = dense<1.000000000e+00> : tensor<f32>} : () -> tensor<f32> loc("full"("HERE"))
    %17 = "stablehlo.broadcast_in_dim"(%16) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<2x3x3x4xf32> loc("broadcast"("HERE"))
    %18 = "stablehlo.broadcast_in_dim"(%16) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<2x3x3x2xf32> loc("broadcast"("HERE"))
    %20 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<f32>} : () -> tensor<f32> loc("max_pool_dx"("HERE"))
    %19 = "stablehlo.select_and_scatter"(%0, %18, %20) ({
    ^bb0(%21: tensor<f32>, %22: tensor<f32>):
      %23 = "stablehlo.compare"(%21, %22) {comparison_direction = #stablehlo<comparison_direction GE>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%23) : (tensor<i1>) -> ()
    }, {
    ^bb0(%24: tensor<f32>, %25: tensor<f32>):
      %26 = "stablehlo.add"(%24, %25) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%26) : (tensor<f32>) -> ()
    }) {window_dimensions = array<i64: 1, 3, 3, 1>, window_strides = array<i64: 1, 2, 2, 1>, padding = dense<[[0, 0], [1, 1], [1, 1], [0, 0]]> : tensor<4x2xi64>} : (tensor<2x6x6x2xf32>, tensor<2x3x3x2xf32>, tensor<f32>) -> tensor<2x6x6x2xf32> loc("max_pool_dx"("HERE"))
    %28 = "stablehlo.reshape"(%1) : (tensor<3x3x1x4xf32>) -> tensor<3x3x1x2x2xf32> loc("conv_transpose"("HERE"))
    %29 = "stablehlo.transpose"(%28) {permutation = array<i64: 0, 1, 4, 3, 2>} : (tensor<3x3x1x2x2xf32>) -> tensor<3x3x2x2x1xf32> loc("conv_transpose"("HERE"))
    %30 = "stablehlo.reshape"(%29) : (tensor<3x3x2x2x1xf32>) -> tensor<3x3x2x2xf32> loc("conv_transpose"("HERE"))
    %31 = "stablehlo.convolution"(%17, %30) {window_strides = array<i64: 1, 1>, padding = dense<[[1, 2], [1, 2]]> : tensor<2x2xi64>, lhs_dilation = array<i64: 2, 2>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: true, true>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 2 : i64, batch_group_count = 1 : i64} : (tensor<2x3x3x4xf32>, tensor<3x3x2x2xf32>) -> tensor<2x6x6x2xf32> loc("conv_transpose"("HERE"))
    %33 = "stablehlo.convolution"(%0, %17) {window_strides = array<i64: 1, 1>, padding = dense<[[1, 0], [1, 0]]> : tensor<2x2xi64>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 2, 2>, dimension_numbers = #stablehlo.conv<[f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f]>, feature_group_count = 1 : i64, batch_group_count = 2 : i64} : (tensor<2x6x6x2xf32>, tensor<2x3x3x4xf32>) -> tensor<3x3x1x4xf32> loc("conv_dk"("HERE"))
    %34 = "stablehlo.add"(%19, %31) : (tensor<2x6x6x2xf32>, tensor<2x6x6x2xf32>) -> tensor<2x6x6x2xf32> loc("add"("HERE"))
    func.return %3, %10, %34, %33 : tensor<2x3x3x4xf32>, tensor<2x3x3x2xf32>, tensor<2x6x6x2xf32>, tensor<3x3x1x4xf32>
  }
}
