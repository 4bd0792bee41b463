module @loop {
  func.func public @main(%w: tensor<512x512xbf16>, %x: tensor<512x512xbf16>) -> tensor<512x512xbf16> {
    %n = "stablehlo.constant"() {value = dense<12> : tensor<i32>} : () -> tensor<i32>
    %one = "stablehlo.constant"() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
    %zero = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %r:2 = "stablehlo.while"(%zero, %x) ({
    ^bb0(%i: tensor<i32>, %y: tensor<512x512xbf16>):
      %c = "stablehlo.compare"(%i, %n) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%c) : (tensor<i1>) -> ()
    }, {
    ^bb0(%i: tensor<i32>, %y: tensor<512x512xbf16>):
      %z = "stablehlo.dot_general"(%y, %w) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xbf16> loc("cell/dot"("user.c":11:0))
      %t = "stablehlo.tanh"(%z) : (tensor<512x512xbf16>) -> tensor<512x512xbf16> loc("cell/tanh"("user.c":12:0))
      %j = "stablehlo.add"(%i, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%j, %t) : (tensor<i32>, tensor<512x512xbf16>) -> ()
    }) : (tensor<i32>, tensor<512x512xbf16>) -> (tensor<i32>, tensor<512x512xbf16>)
    func.return %r#1 : tensor<512x512xbf16>
  }
}
