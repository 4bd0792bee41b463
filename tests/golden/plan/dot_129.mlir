module @dot {
  func.func public @main(%a: tensor<4096x4096xbf16>, %b: tensor<4096x129xbf16>) -> tensor<4096x129xbf16> {
    %r = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<4096x4096xbf16>, tensor<4096x129xbf16>) -> tensor<4096x129xbf16> loc("fc/dot"("user.c":7:0))
    func.return %r : tensor<4096x129xbf16>
  }
}
