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
    %14 = "stablehlo.constant"() {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32> loc("max"("HERE"))
    %13 = "stablehlo.reduce"(%8, %14) ({
    ^bb0(%15: tensor<f32>, %16: tensor<f32>):
      %17 = "stablehlo.maximum"(%15, %16) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%17) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 1>} : (tensor<4x2xf32>, tensor<f32>) -> tensor<4xf32> loc("max"("HERE"))
    %18 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<4xf32>} : () -> tensor<4xf32> loc("full"("HERE"))
    %19 = "stablehlo.is_finite"(%13) : (tensor<4xf32>) -> tensor<4xi1> loc("is_finite"("HERE"))
    %20 = "stablehlo.select"(%19, %13, %18) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("where"("HERE"))
    %21 = "stablehlo.broadcast_in_dim"(%20) {broadcast_dimensions = array<i64: 0>} : (tensor<4xf32>) -> tensor<4x2xf32> loc("broadcast"("HERE"))
    %22 = "stablehlo.subtract"(%8, %21) : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32> loc("sub"("HERE"))
    %23 = "stablehlo.exponential"(%22) : (tensor<4x2xf32>) -> tensor<4x2xf32> loc("exp"("HERE"))
    %25 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<f32>} : () -> tensor<f32> loc("sum"("HERE"))
    %24 = "stablehlo.reduce"(%23, %25) ({
    ^bb0(%26: tensor<f32>, %27: tensor<f32>):
      %28 = "stablehlo.add"(%26, %27) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%28) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 1>} : (tensor<4x2xf32>, tensor<f32>) -> tensor<4xf32> loc("sum"("HERE"))
    %29 = "stablehlo.compare"(%24, %18) {comparison_direction = #stablehlo<comparison_direction EQ>, compare_type = #stablehlo<comparison_type FLOAT>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1> loc("eq"("HERE"))
    %30 = "stablehlo.constant"() {value = dense<1.000000000e+00> : tensor<4xf32>} : () -> tensor<4xf32> loc("full"("HERE"))
    %31 = "stablehlo.select"(%29, %30, %24) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("where"("HERE"))
    %32 = "stablehlo.log"(%31) : (tensor<4xf32>) -> tensor<4xf32> loc("log"("HERE"))
    %33 = "stablehlo.constant"() {value = dense<0xFF800000> : tensor<4xf32>} : () -> tensor<4xf32> loc("full"("HERE"))
    %34 = "stablehlo.add"(%32, %20) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("add"("HERE"))
    %35 = "stablehlo.select"(%29, %33, %34) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("where"("HERE"))
    %36 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<4x2xf32>} : () -> tensor<4x2xf32> loc("full"("HERE"))
    %37 = "stablehlo.select"(%12, %8, %36) : (tensor<4x2xi1>, tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32> loc("where"("HERE"))
    %39 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<f32>} : () -> tensor<f32> loc("sum"("HERE"))
    %38 = "stablehlo.reduce"(%37, %39) ({
    ^bb0(%40: tensor<f32>, %41: tensor<f32>):
      %42 = "stablehlo.add"(%40, %41) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%42) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 1>} : (tensor<4x2xf32>, tensor<f32>) -> tensor<4xf32> loc("sum"("HERE"))
    %43 = "stablehlo.subtract"(%35, %38) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("sub"("HERE"))
    %44 = "stablehlo.constant"() {value = dense<0> : tensor<4xi32>} : () -> tensor<4xi32> loc("full"("HERE"))
    %45 = "stablehlo.compare"(%1, %44) {comparison_direction = #stablehlo<comparison_direction LT>, compare_type = #stablehlo<comparison_type SIGNED>} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1> loc("lt"("HERE"))
    %46 = "stablehlo.constant"() {value = dense<1> : tensor<4xi32>} : () -> tensor<4xi32> loc("full"("HERE"))
    %47 = "stablehlo.compare"(%1, %46) {comparison_direction = #stablehlo<comparison_direction GT>, compare_type = #stablehlo<comparison_type SIGNED>} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1> loc("gt"("HERE"))
    %48 = "stablehlo.or"(%45, %47) : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1> loc("or"("HERE"))
    %49 = "stablehlo.constant"() {value = dense<1.000000000e+00> : tensor<f32>} : () -> tensor<f32> loc("full"("HERE"))
    %50 = "stablehlo.constant"() {value = dense<0x7FC00000> : tensor<f32>} : () -> tensor<f32> loc("full"("HERE"))
    %51 = "stablehlo.broadcast_in_dim"(%50) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<4xf32> loc("broadcast"("HERE"))
    %52 = "stablehlo.broadcast_in_dim"(%49) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<4xf32> loc("broadcast"("HERE"))
    %53 = "stablehlo.select"(%48, %51, %52) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("where"("HERE"))
    %54 = "stablehlo.multiply"(%43, %53) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("mul"("HERE"))
    %56 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<f32>} : () -> tensor<f32> loc("sum"("HERE"))
    %55 = "stablehlo.reduce"(%54, %56) ({
    ^bb0(%57: tensor<f32>, %58: tensor<f32>):
      %59 = "stablehlo.add"(%57, %58) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%59) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 0>} : (tensor<4xf32>, tensor<f32>) -> tensor<f32> loc("sum"("HERE"))
    %60 = "stablehlo.constant"() {value = dense<2.500000000e-01> : tensor<f32>} : () -> tensor<f32> loc("full"("HERE"))
    %61 = "stablehlo.multiply"(%55, %60) : (tensor<f32>, tensor<f32>) -> tensor<f32> loc("mul"("HERE"))
    %62 = "stablehlo.multiply"(%49, %60) : (tensor<f32>, tensor<f32>) -> tensor<f32> loc("mul"("HERE"))
    %63 = "stablehlo.broadcast_in_dim"(%62) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<4xf32> loc("broadcast"("HERE"))
    %64 = "stablehlo.multiply"(%63, %53) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("mul"("HERE"))
    %65 = "stablehlo.negate"(%64) : (tensor<4xf32>) -> tensor<4xf32> loc("neg"("HERE"))
    %66 = "stablehlo.broadcast_in_dim"(%65) {broadcast_dimensions = array<i64: 0>} : (tensor<4xf32>) -> tensor<4x2xf32> loc("broadcast"("HERE"))
    %67 = "stablehlo.select"(%12, %66, %36) : (tensor<4x2xi1>, tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32> loc("where"("HERE"))
    %68 = "stablehlo.select"(%29, %18, %64) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("where"("HERE"))
    %69 = "stablehlo.divide"(%68, %31) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("div"("HERE"))
    %70 = "stablehlo.select"(%29, %18, %69) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("where"("HERE"))
    %71 = "stablehlo.broadcast_in_dim"(%70) {broadcast_dimensions = array<i64: 0>} : (tensor<4xf32>) -> tensor<4x2xf32> loc("broadcast"("HERE"))
    %72 = "stablehlo.multiply"(%71, %23) : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32> loc("mul"("HERE"))
    %73 = "stablehlo.add"(%67, %72) : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32> loc("add"("HERE"))
    %75 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<4x2xf32>} : () -> tensor<4x2xf32> loc("relu_dx"("HERE"))
    %76 = "stablehlo.compare"(%8, %75) {comparison_direction = #stablehlo<comparison_direction GT>} : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xi1> loc("relu_dx"("HERE"))
    %77 = "stablehlo.select"(%76, %73, %75) : (tensor<4x2xi1>, tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32> loc("relu_dx"("HERE"))
    %79 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<f32>} : () -> tensor<f32> loc("model/fc/sum"("HERE"))
    %78 = "stablehlo.reduce"(%77, %79) ({
    ^bb0(%80: tensor<f32>, %81: tensor<f32>):
      %82 = "stablehlo.add"(%80, %81) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%82) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 0>} : (tensor<4x2xf32>, tensor<f32>) -> tensor<2xf32> loc("model/fc/sum"("HERE"))
    %83 = "stablehlo.dot_general"(%0, %77) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>} : (tensor<4x3xf32>, tensor<4x2xf32>) -> tensor<3x2xf32> loc("model/fc/dot"("HERE"))
    %86 = "stablehlo.slice"(%4) {start_indices = array<i64: 0>, limit_indices = array<i64: 1>, strides = array<i64: 1>} : (tensor<1xui32>) -> tensor<1xui32> loc("input"("HERE"))
    %85 = "stablehlo.reshape"(%86) : (tensor<1xui32>) -> tensor<ui32> loc("input"("HERE"))
    %84 = "stablehlo.bitcast_convert"(%85) : (tensor<ui32>) -> tensor<f32> loc("input"("HERE"))
    %87 = "stablehlo.broadcast_in_dim"(%84) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<3x2xf32> loc("broadcast"("HERE"))
    %88 = "stablehlo.multiply"(%83, %87) : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32> loc("mul"("HERE"))
    %89 = "stablehlo.subtract"(%2, %88) : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32> loc("sub"("HERE"))
    %90 = "stablehlo.broadcast_in_dim"(%84) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<2xf32> loc("broadcast"("HERE"))
    %91 = "stablehlo.multiply"(%78, %90) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> loc("mul"("HERE"))
    %92 = "stablehlo.subtract"(%3, %91) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> loc("sub"("HERE"))
    func.return %61, %89, %92 : tensor<f32>, tensor<3x2xf32>, tensor<2xf32>
  }
}
