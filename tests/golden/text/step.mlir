module @fulgurite {
  func.func public @main(%0: tensor<4x3xf32>, %1: tensor<4xi32>, %2: tensor<3x2xf32> {tf.aliasing_output = 1 : i32}, %3: tensor<2xf32> {tf.aliasing_output = 2 : i32}, %4: tensor<1xui32>) -> (tensor<f32>, tensor<3x2xf32>, tensor<2xf32>) {
    %5 = "stablehlo.dot_general"(%0, %2) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32> loc("model/fc/matmul"("HERE"))
    %6 = "stablehlo.broadcast_in_dim"(%3) {broadcast_dimensions = array<i64: 1>} : (tensor<2xf32>) -> tensor<4x2xf32> loc("model/fc/broadcast"("HERE"))
    %7 = "stablehlo.add"(%5, %6) : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32> loc("model/fc/add"("HERE"))
    %9 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<4x2xf32>} : () -> tensor<4x2xf32> loc("relu"("HERE"))
    %8 = "stablehlo.maximum"(%7, %9) : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32> loc("relu"("HERE"))
    %10 = "stablehlo.iota"() {iota_dimension = 1 : i64} : () -> tensor<4x2xi32> loc("iota"("HERE"))
    %11 = "stablehlo.broadcast_in_dim"(%1) {broadcast_dimensions = array<i64: 0>} : (tensor<4xi32>) -> tensor<4x2xi32> loc("broadcast"("HERE"))
    %12 = "stablehlo.compare"(%11, %10) {comparison_direction = #stablehlo<comparison_direction EQ>, compare_type = #stablehlo<comparison_type SIGNED>} : (tensor<4x2xi32>, tensor<4x2xi32>) -> tensor<4x2xi1> loc("eq"("HERE"))
    %13 = "stablehlo.convert"(%12) : (tensor<4x2xi1>) -> tensor<4x2xf32> loc("cast"("HERE"))
    %14 = "stablehlo.multiply"(%8, %13) : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32> loc("mul"("HERE"))
    %16 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<f32>} : () -> tensor<f32> loc("sum"("HERE"))
    %15 = "stablehlo.reduce"(%14, %16) ({
    ^bb0(%17: tensor<f32>, %18: tensor<f32>):
      %19 = "stablehlo.add"(%17, %18) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%19) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 1>} : (tensor<4x2xf32>, tensor<f32>) -> tensor<4xf32> loc("sum"("HERE"))
    %21 = "stablehlo.constant"() {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32> loc("reduce_max"("HERE"))
    %20 = "stablehlo.reduce"(%8, %21) ({
    ^bb0(%22: tensor<f32>, %23: tensor<f32>):
      %24 = "stablehlo.maximum"(%22, %23) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%24) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 1>} : (tensor<4x2xf32>, tensor<f32>) -> tensor<4xf32> loc("reduce_max"("HERE"))
    %25 = "stablehlo.broadcast_in_dim"(%20) {broadcast_dimensions = array<i64: 0>} : (tensor<4xf32>) -> tensor<4x2xf32> loc("broadcast"("HERE"))
    %26 = "stablehlo.subtract"(%8, %25) : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32> loc("sub"("HERE"))
    %27 = "stablehlo.exponential"(%26) : (tensor<4x2xf32>) -> tensor<4x2xf32> loc("exp"("HERE"))
    %29 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<f32>} : () -> tensor<f32> loc("sum"("HERE"))
    %28 = "stablehlo.reduce"(%27, %29) ({
    ^bb0(%30: tensor<f32>, %31: tensor<f32>):
      %32 = "stablehlo.add"(%30, %31) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%32) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 1>} : (tensor<4x2xf32>, tensor<f32>) -> tensor<4xf32> loc("sum"("HERE"))
    %33 = "stablehlo.log"(%28) : (tensor<4xf32>) -> tensor<4xf32> loc("log"("HERE"))
    %34 = "stablehlo.add"(%33, %20) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("add"("HERE"))
    %35 = "stablehlo.subtract"(%34, %15) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("sub"("HERE"))
    %37 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<f32>} : () -> tensor<f32> loc("sum"("HERE"))
    %36 = "stablehlo.reduce"(%35, %37) ({
    ^bb0(%38: tensor<f32>, %39: tensor<f32>):
      %40 = "stablehlo.add"(%38, %39) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%40) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 0>} : (tensor<4xf32>, tensor<f32>) -> tensor<f32> loc("sum"("HERE"))
    %41 = "stablehlo.constant"() {value = dense<2.500000000e-01> : tensor<f32>} : () -> tensor<f32> loc("full"("HERE"))
    %42 = "stablehlo.multiply"(%36, %41) : (tensor<f32>, tensor<f32>) -> tensor<f32> loc("mul"("HERE"))
    %43 = "stablehlo.constant"() {value = dense<1.000000000e+00> : tensor<f32>} : () -> tensor<f32> loc("full"("HERE"))
    %44 = "stablehlo.multiply"(%43, %41) : (tensor<f32>, tensor<f32>) -> tensor<f32> loc("mul"("HERE"))
    %45 = "stablehlo.broadcast_in_dim"(%44) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<4xf32> loc("broadcast"("HERE"))
    %46 = "stablehlo.negate"(%45) : (tensor<4xf32>) -> tensor<4xf32> loc("neg"("HERE"))
    %47 = "stablehlo.divide"(%45, %28) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("div"("HERE"))
    %48 = "stablehlo.broadcast_in_dim"(%47) {broadcast_dimensions = array<i64: 0>} : (tensor<4xf32>) -> tensor<4x2xf32> loc("broadcast"("HERE"))
    %49 = "stablehlo.multiply"(%48, %27) : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32> loc("mul"("HERE"))
    %50 = "stablehlo.broadcast_in_dim"(%46) {broadcast_dimensions = array<i64: 0>} : (tensor<4xf32>) -> tensor<4x2xf32> loc("broadcast"("HERE"))
    %51 = "stablehlo.multiply"(%50, %13) : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32> loc("mul"("HERE"))
    %52 = "stablehlo.add"(%49, %51) : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32> loc("add"("HERE"))
    %53 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<4x2xf32>} : () -> tensor<4x2xf32> loc("full"("HERE"))
    %54 = "stablehlo.compare"(%8, %53) {comparison_direction = #stablehlo<comparison_direction GT>, compare_type = #stablehlo<comparison_type FLOAT>} : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xi1> loc("gt"("HERE"))
    %55 = "stablehlo.select"(%54, %52, %53) : (tensor<4x2xi1>, tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32> loc("where"("HERE"))
    %57 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<f32>} : () -> tensor<f32> loc("model/fc/sum"("HERE"))
    %56 = "stablehlo.reduce"(%55, %57) ({
    ^bb0(%58: tensor<f32>, %59: tensor<f32>):
      %60 = "stablehlo.add"(%58, %59) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%60) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 0>} : (tensor<4x2xf32>, tensor<f32>) -> tensor<2xf32> loc("model/fc/sum"("HERE"))
    %61 = "stablehlo.dot_general"(%0, %55) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>} : (tensor<4x3xf32>, tensor<4x2xf32>) -> tensor<3x2xf32> loc("model/fc/dot"("HERE"))
    %64 = "stablehlo.slice"(%4) {start_indices = array<i64: 0>, limit_indices = array<i64: 1>, strides = array<i64: 1>} : (tensor<1xui32>) -> tensor<1xui32> loc("input"("HERE"))
    %63 = "stablehlo.reshape"(%64) : (tensor<1xui32>) -> tensor<ui32> loc("input"("HERE"))
    %62 = "stablehlo.bitcast_convert"(%63) : (tensor<ui32>) -> tensor<f32> loc("input"("HERE"))
    %65 = "stablehlo.broadcast_in_dim"(%62) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<3x2xf32> loc("broadcast"("HERE"))
    %66 = "stablehlo.multiply"(%61, %65) : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32> loc("mul"("HERE"))
    %67 = "stablehlo.subtract"(%2, %66) : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32> loc("sub"("HERE"))
    %68 = "stablehlo.broadcast_in_dim"(%62) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<2xf32> loc("broadcast"("HERE"))
    %69 = "stablehlo.multiply"(%56, %68) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> loc("mul"("HERE"))
    %70 = "stablehlo.subtract"(%3, %69) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> loc("sub"("HERE"))
    func.return %42, %67, %70 : tensor<f32>, tensor<3x2xf32>, tensor<2xf32>
  }
}
