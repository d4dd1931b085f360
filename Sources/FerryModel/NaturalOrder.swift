/// Ascending as people count.
///
/// Runs of digits go by their number (`Model 2` before `Model 10`), the rest by letter, upper and lower case together.
/// Different texts are never equal, so the order is total.
package func naturalOrder(_ left: String, _ right: String) -> Bool {
    let (first, second) = (Array(left.unicodeScalars), Array(right.unicodeScalars))
    var (i, j) = (0, 0)
    while i < first.count, j < second.count {
        if isDigit(first[i]), isDigit(second[j]) {
            let (a, b) = (number(in: first, at: &i), number(in: second, at: &j))
            if a.count != b.count { return a.count < b.count }
            if a != b { return a.lexicographicallyPrecedes(b) }
        } else {
            let (a, b) = (folded(first[i]), folded(second[j]))
            if a != b { return a < b }
            i += 1
            j += 1
        }
    }
    if (i < first.count) != (j < second.count) { return i == first.count }
    return codeUnitOrder(left, right)
}

private func isDigit(_ scalar: Unicode.Scalar) -> Bool { ("0"..."9").contains(scalar) }

/// The digits from a position on, without leading zeros: compared by length, then by digit, they never overflow.
private func number(in scalars: [Unicode.Scalar], at position: inout Int) -> ArraySlice<Unicode.Scalar> {
    let start = position
    while position < scalars.count, isDigit(scalars[position]) { position += 1 }
    return scalars[start..<position].drop { $0 == "0" }
}

private func folded(_ scalar: Unicode.Scalar) -> String { scalar.properties.lowercaseMapping }
