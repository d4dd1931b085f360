package import FerryModel

/// A form of the mapping language that makes one value of the value at one path (`%`).
package struct ExpressionForm: Sendable {
    /// What can be told of the path's value from the form's.
    package enum Keeps: Sendable {
        /// The value itself.
        case value
        /// The value itself for some objects.
        case some
        /// One new value that a function computes of it.
        case newValue
        case nothing
    }

    package let text: String
    package let old: Set<AttributeType>
    package let new: Set<AttributeType>
    package let keeps: Keeps

    package func expression(of path: String) -> String { text.replacing("%", with: path) }

    /// The path in an expression of this form.
    package func path(in expression: String) -> String? {
        let pieces = text.split(separator: "%", omittingEmptySubsequences: false)
        let places = pieces.count - 1
        let length = expression.count - (text.count - places)
        guard let start = pieces.first, length > 0, length % places == 0, expression.hasPrefix(start) else {
            return nil
        }
        let path = String(expression.dropFirst(start.count).prefix(length / places))
        let isPath = path.hasPrefix("$") && path.allSatisfy { $0.isLetter || $0.isNumber || "$._".contains($0) }
        return isPath && self.expression(of: path) == expression ? path : nil
    }

    private init(_ text: String, _ old: Set<AttributeType>, _ new: Set<AttributeType>, _ keeps: Keeps) {
        (self.text, self.old, self.new, self.keeps) = (text, old, new, keeps)
    }

    private static let text: Set<AttributeType> = [.string]
    private static let integers: Set<AttributeType> = [.integer16, .integer32, .integer64]
    private static let reals: Set<AttributeType> = [.double, .float, .decimal]
    private static let numbers = integers.union(reals)
    private static let any = numbers.union([.string, .boolean, .date, .binary])

    private static func forms(
        _ texts: [String], _ old: Set<AttributeType>, _ new: Set<AttributeType>, _ keeps: Keeps
    ) -> [ExpressionForm] {
        texts.map { ExpressionForm($0, old, new, keeps) }
    }

    /// All forms; the path alone is the last one.
    package static let all: [ExpressionForm] =
        forms(["ifnil:then:(%, 'none')", "TERNARY(% = nil, 'none', %)"], text, text, .value)
        + forms(["CAST(%, 'NSString')"], integers, text, .value)
        + forms(["noindex:(%)"], any, any, .value)
        + forms(["TERNARY($source.mark ENDSWITH '2', nil, %)"], any, any, .some)
        + forms(
            [
                "uppercase:(%)", "lowercase:(%)", "canonical:(%)", "%.uppercaseString", "%.lowercaseString",
                "%.capitalizedString", "FUNCTION(%, 'stringByAppendingString:', 'x')",
                "FUNCTION(%, 'stringByReplacingOccurrencesOfString:withString:', 'a', 'b')",
                "join:with:({%, 'x'}, '-')", "base64:(dataFromText:(%))",
                "TERNARY($source.mark ENDSWITH '2', uppercase:(%), %)",
            ], text, text, .newValue)
        + forms(["%.integerValue", "%.longLongValue", "%.intValue"], text, [.integer64], .newValue)
        + forms(["%.doubleValue"], text, [.double], .newValue)
        + forms(["dataFromText:(%)"], text, [.binary], .newValue)
        + forms(["% + 1", "% - 1", "% / 2"], integers, [.integer64], .newValue)
        + forms(
            ["% * 2.5", "% ** 2", "sqrt:(%)", "ln:(%)", "log:(%)", "exp:(%)", "floor:(%)", "ceiling:(%)", "trunc:(%)"],
            numbers, [.double], .newValue)
        + forms(["%.stringValue"], numbers, text, .newValue)
        + forms(
            ["secondsSince1970:(%)", "%.timeIntervalSince1970", "%.timeIntervalSinceReferenceDate"], [.date], [.double],
            .newValue)
        + forms(["text:format:(%, 'yyyy-MM-dd')"], [.date], text, .newValue)
        + forms(["FUNCTION(%, 'dateByAddingTimeInterval:', 60)"], [.date], [.date], .newValue)
        + forms(["dateSince1970:(%)"], [.double], [.date], .newValue)
        + forms(["hex:(%)", "base64:(%)"], [.binary], text, .newValue)
        + forms(
            [
                "split:by:at:(%, 'a', 0)", "FUNCTION(%, 'substringToIndex:', 2)",
                "FUNCTION(%, 'substringFromIndex:', 2)",
                "%.lastPathComponent", "%.pathExtension", "%.stringByDeletingPathExtension",
                "%.stringByDeletingLastPathComponent", "TERNARY(% = nil, 'y', 'n')", "TERNARY(% = 'same', 'y', 'n')",
                "FUNCTION(%, 'componentsSeparatedByString:', 'a')[0]", "mode:({%, 'same'})",
            ], text, text, .nothing)
        + forms(["%.length"], [.string, .binary], [.integer32, .integer64], .nothing)
        + forms(
            [
                "%.boolValue", "FUNCTION(%, 'hasPrefix:', 's')", "FUNCTION(%, 'hasSuffix:', '7')",
                "FUNCTION(%, 'containsString:', 'a')", "FUNCTION(%, 'isEqualToString:', 'same')",
            ], text, [.boolean], .nothing)
        + forms(
            [
                "modulus:by:(%, 3)", "bitwiseAnd:with:(%, 3)", "bitwiseOr:with:(%, 3)", "bitwiseXor:with:(%, 3)",
                "rightshift:by:(%, 1)", "onesComplement:(%)", "max:({%, 3})", "min:({%, 3})", "sum:({%, 1})",
                "TERNARY(% > 2, 1, 0)",
            ], integers, [.integer64], .nothing)
        + forms(["average:({%, 1})", "median:({%, 1})", "stddev:({%, 1})"], numbers, [.double], .nothing)
        + forms(["count:({%})"], any, [.integer32, .integer64], .nothing)
        + forms(["%"], any, any, .value)
}
