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
    %13 = "stablehlo.constant"() {value = dense<-100> : tensor<4xi32>} : () -> tensor<4xi32> loc("full"("HERE"))
    %14 = "stablehlo.compare"(%1, %13) {comparison_direction = #stablehlo<comparison_direction NE>, compare_type = #stablehlo<comparison_type SIGNED>} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1> loc("ne"("HERE"))
    %16 = "stablehlo.constant"() {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32> loc("reduce_max"("HERE"))
    %15 = "stablehlo.reduce"(%8, %16) ({
    ^bb0(%17: tensor<f32>, %18: tensor<f32>):
      %19 = "stablehlo.maximum"(%17, %18) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%19) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 1>} : (tensor<4x2xf32>, tensor<f32>) -> tensor<4xf32> loc("reduce_max"("HERE"))
    %20 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<4xf32>} : () -> tensor<4xf32> loc("full"("HERE"))
    %21 = "stablehlo.is_finite"(%15) : (tensor<4xf32>) -> tensor<4xi1> loc("is_finite"("HERE"))
    %22 = "stablehlo.select"(%21, %15, %20) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("where"("HERE"))
    %23 = "stablehlo.broadcast_in_dim"(%22) {broadcast_dimensions = array<i64: 0>} : (tensor<4xf32>) -> tensor<4x2xf32> loc("broadcast"("HERE"))
    %24 = "stablehlo.subtract"(%8, %23) : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32> loc("sub"("HERE"))
    %25 = "stablehlo.exponential"(%24) : (tensor<4x2xf32>) -> tensor<4x2xf32> loc("exp"("HERE"))
    %27 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<f32>} : () -> tensor<f32> loc("sum"("HERE"))
    %26 = "stablehlo.reduce"(%25, %27) ({
    ^bb0(%28: tensor<f32>, %29: tensor<f32>):
      %30 = "stablehlo.add"(%28, %29) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%30) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 1>} : (tensor<4x2xf32>, tensor<f32>) -> tensor<4xf32> loc("sum"("HERE"))
    %31 = "stablehlo.compare"(%26, %20) {comparison_direction = #stablehlo<comparison_direction EQ>, compare_type = #stablehlo<comparison_type FLOAT>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1> loc("eq"("HERE"))
    %32 = "stablehlo.constant"() {value = dense<1.000000000e+00> : tensor<4xf32>} : () -> tensor<4xf32> loc("full"("HERE"))
    %33 = "stablehlo.select"(%31, %32, %26) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("where"("HERE"))
    %34 = "stablehlo.log"(%33) : (tensor<4xf32>) -> tensor<4xf32> loc("log"("HERE"))
    %35 = "stablehlo.constant"() {value = dense<0xFF800000> : tensor<4xf32>} : () -> tensor<4xf32> loc("full"("HERE"))
    %36 = "stablehlo.add"(%34, %22) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("add"("HERE"))
    %37 = "stablehlo.select"(%31, %35, %36) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("where"("HERE"))
    %38 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<4x2xf32>} : () -> tensor<4x2xf32> loc("full"("HERE"))
    %39 = "stablehlo.select"(%12, %8, %38) : (tensor<4x2xi1>, tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32> loc("where"("HERE"))
    %41 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<f32>} : () -> tensor<f32> loc("sum"("HERE"))
    %40 = "stablehlo.reduce"(%39, %41) ({
    ^bb0(%42: tensor<f32>, %43: tensor<f32>):
      %44 = "stablehlo.add"(%42, %43) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%44) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 1>} : (tensor<4x2xf32>, tensor<f32>) -> tensor<4xf32> loc("sum"("HERE"))
    %45 = "stablehlo.subtract"(%37, %40) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("sub"("HERE"))
    %46 = "stablehlo.constant"() {value = dense<0> : tensor<4xi32>} : () -> tensor<4xi32> loc("full"("HERE"))
    %47 = "stablehlo.compare"(%1, %46) {comparison_direction = #stablehlo<comparison_direction LT>, compare_type = #stablehlo<comparison_type SIGNED>} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1> loc("lt"("HERE"))
    %48 = "stablehlo.constant"() {value = dense<1> : tensor<4xi32>} : () -> tensor<4xi32> loc("full"("HERE"))
    %49 = "stablehlo.compare"(%1, %48) {comparison_direction = #stablehlo<comparison_direction GT>, compare_type = #stablehlo<comparison_type SIGNED>} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1> loc("gt"("HERE"))
    %50 = "stablehlo.or"(%47, %49) : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1> loc("or"("HERE"))
    %51 = "stablehlo.and"(%50, %14) : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1> loc("and"("HERE"))
    %52 = "stablehlo.constant"() {value = dense<1.000000000e+00> : tensor<f32>} : () -> tensor<f32> loc("full"("HERE"))
    %53 = "stablehlo.constant"() {value = dense<0x7FC00000> : tensor<f32>} : () -> tensor<f32> loc("full"("HERE"))
    %54 = "stablehlo.broadcast_in_dim"(%53) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<4xf32> loc("broadcast"("HERE"))
    %55 = "stablehlo.broadcast_in_dim"(%52) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<4xf32> loc("broadcast"("HERE"))
    %56 = "stablehlo.select"(%51, %54, %55) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("where"("HERE"))
    %57 = "stablehlo.multiply"(%45, %56) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("mul"("HERE"))
    %58 = "stablehlo.select"(%14, %57, %20) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("where"("HERE"))
    %59 = "stablehlo.select"(%14, %32, %20) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("where"("HERE"))
    %61 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<f32>} : () -> tensor<f32> loc("sum"("HERE"))
    %60 = "stablehlo.reduce"(%59, %61) ({
    ^bb0(%62: tensor<f32>, %63: tensor<f32>):
      %64 = "stablehlo.add"(%62, %63) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%64) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 0>} : (tensor<4xf32>, tensor<f32>) -> tensor<f32> loc("sum"("HERE"))
    %66 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<f32>} : () -> tensor<f32> loc("sum"("HERE"))
    %65 = "stablehlo.reduce"(%58, %66) ({
    ^bb0(%67: tensor<f32>, %68: tensor<f32>):
      %69 = "stablehlo.add"(%67, %68) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%69) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 0>} : (tensor<4xf32>, tensor<f32>) -> tensor<f32> loc("sum"("HERE"))
    %70 = "stablehlo.divide"(%52, %60) : (tensor<f32>, tensor<f32>) -> tensor<f32> loc("div"("HERE"))
    %71 = "stablehlo.multiply"(%65, %70) : (tensor<f32>, tensor<f32>) -> tensor<f32> loc("mul"("HERE"))
    %72 = "stablehlo.multiply"(%52, %70) : (tensor<f32>, tensor<f32>) -> tensor<f32> loc("mul"("HERE"))
    %73 = "stablehlo.broadcast_in_dim"(%72) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<4xf32> loc("broadcast"("HERE"))
    %74 = "stablehlo.select"(%14, %73, %20) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("where"("HERE"))
    %75 = "stablehlo.multiply"(%74, %56) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("mul"("HERE"))
    %76 = "stablehlo.negate"(%75) : (tensor<4xf32>) -> tensor<4xf32> loc("neg"("HERE"))
    %77 = "stablehlo.broadcast_in_dim"(%76) {broadcast_dimensions = array<i64: 0>} : (tensor<4xf32>) -> tensor<4x2xf32> loc("broadcast"("HERE"))
    %78 = "stablehlo.select"(%12, %77, %38) : (tensor<4x2xi1>, tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32> loc("where"("HERE"))
    %79 = "stablehlo.select"(%31, %20, %75) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("where"("HERE"))
    %80 = "stablehlo.divide"(%79, %33) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("div"("HERE"))
    %81 = "stablehlo.select"(%31, %20, %80) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("where"("HERE"))
    %82 = "stablehlo.broadcast_in_dim"(%81) {broadcast_dimensions = array<i64: 0>} : (tensor<4xf32>) -> tensor<4x2xf32> loc("broadcast"("HERE"))
    %83 = "stablehlo.multiply"(%82, %25) : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32> loc("mul"("HERE"))
    %84 = "stablehlo.add"(%78, %83) : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32> loc("add"("HERE"))
    %85 = "stablehlo.compare"(%8, %38) {comparison_direction = #stablehlo<comparison_direction GT>, compare_type = #stablehlo<comparison_type FLOAT>} : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xi1> loc("gt"("HERE"))
    %86 = "stablehlo.select"(%85, %84, %38) : (tensor<4x2xi1>, tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32> loc("where"("HERE"))
    %88 = "stablehlo.constant"() {value = dense<0.000000000e+00> : tensor<f32>} : () -> tensor<f32> loc("model/fc/sum"("HERE"))
    %87 = "stablehlo.reduce"(%86, %88) ({
    ^bb0(%89: tensor<f32>, %90: tensor<f32>):
      %91 = "stablehlo.add"(%89, %90) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%91) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 0>} : (tensor<4x2xf32>, tensor<f32>) -> tensor<2xf32> loc("model/fc/sum"("HERE"))
    %92 = "stablehlo.dot_general"(%0, %86) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>} : (tensor<4x3xf32>, tensor<4x2xf32>) -> tensor<3x2xf32> loc("model/fc/dot"("HERE"))
    %95 = "stablehlo.slice"(%4) {start_indices = array<i64: 0>, limit_indices = array<i64: 1>, strides = array<i64: 1>} : (tensor<1xui32>) -> tensor<1xui32> loc("input"("HERE"))
    %94 = "stablehlo.reshape"(%95) : (tensor<1xui32>) -> tensor<ui32> loc("input"("HERE"))
    %93 = "stablehlo.bitcast_convert"(%94) : (tensor<ui32>) -> tensor<f32> loc("input"("HERE"))
    %96 = "stablehlo.broadcast_in_dim"(%93) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<3x2xf32> loc("broadcast"("HERE"))
    %97 = "stablehlo.multiply"(%92, %96) : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32> loc("mul"("HERE"))
    %98 = "stablehlo.subtract"(%2, %97) : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32> loc("sub"("HERE"))
    %99 = "stablehlo.broadcast_in_dim"(%93) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<2xf32> loc("broadcast"("HERE"))
    %100 = "stablehlo.multiply"(%87, %99) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> loc("mul"("HERE"))
    %101 = "stablehlo.subtract"(%3, %100) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> loc("sub"("HERE"))
    func.return %71, %98, %101 : tensor<f32>, tensor<3x2xf32>, tensor<2xf32>
  }
}
