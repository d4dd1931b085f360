internal import Foundation

/// The predefined functions of two numbers: two integers stay integers, anything else is computed as doubles.
enum PlainOperator: String {
    case add = "add:to:"
    case subtract = "from:subtract:"
    case multiply = "multiply:by:"
    case divide = "divide:by:"
    case modulus = "modulus:by:"
    case raise = "raise:toPower:"
    case and = "bitwiseAnd:with:"
    case or = "bitwiseOr:with:"
    case exclusiveOr = "bitwiseXor:with:"
    case shiftLeft = "leftshift:by:"
    case shiftRight = "rightshift:by:"

    /// - Returns: Nil for nil, and for what is no number.
    func value(_ left: PlainValue, _ right: PlainValue) throws -> PlainValue {
        if left.isNull || right.isNull { return .null }
        guard let left = PlainNumber(left), let right = PlainNumber(right) else {
            throw PlainFailure("\(rawValue) needs numbers")
        }
        if self != .raise, case .integer(let first) = left, case .integer(let second) = right {
            return .integer(try value(first, second))
        }
        let value = try value(left.real, right.real)
        // What is no number is nil, as a store keeps it.
        return value.isNaN ? .null : .real(value)
    }

    private func value(_ left: Double, _ right: Double) throws -> Double {
        switch self {
        case .add: return left + right
        case .subtract: return left - right
        case .multiply: return left * right
        case .divide: return left / right
        case .modulus: return left.truncatingRemainder(dividingBy: right)
        case .raise: return pow(left, right)
        case .and, .or, .exclusiveOr, .shiftLeft, .shiftRight: throw PlainFailure("\(rawValue) needs integers")
        }
    }

    private func value(_ left: Int64, _ right: Int64) throws -> Int64 {
        let result: (partialValue: Int64, overflow: Bool)
        switch self {
        case .add: result = left.addingReportingOverflow(right)
        case .subtract: result = left.subtractingReportingOverflow(right)
        case .multiply: result = left.multipliedReportingOverflow(by: right)
        case .divide: result = left.dividedReportingOverflow(by: right)
        case .modulus:
            // By -1 nothing is left over, although the quotient of the smallest integer overflows.
            result = right == -1 ? (0, false) : left.remainderReportingOverflow(dividingBy: right)
        case .and: return left & right
        case .or: return left | right
        case .exclusiveOr: return left ^ right
        case .shiftLeft: return left << right
        case .shiftRight: return left >> right
        case .raise: preconditionFailure("a power is computed as doubles")
        }
        if result.overflow { throw PlainFailure("\(rawValue) exceeds 64 bits or divides by zero") }
        return result.partialValue
    }
}
