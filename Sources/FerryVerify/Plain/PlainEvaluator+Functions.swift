internal import FerryExpression
internal import FerryModel

/// The functions that need more than the values of their operands: objects, the time, or the operands' own text.
extension PlainEvaluator {
    /// The value of a call; nil for a function of values alone.
    func value(ofScoped selector: String, _ operands: [Expression], in scope: PlainScope) throws -> PlainValue? {
        switch (selector, operands.count) {
        case ("now", _): return .real(now)
        case ("noindex:", 1): return try value(of: operands[0], in: scope)
        case ("castObject:toType:", _): return try cast(operands, in: scope)
        case (Expression.tableSelector, 2): return try entry(for: operands[1], in: operands[0], scope)
        case ("join:with:", 2): return try joined(operands[0], operands[1], in: scope)
        case ("split:by:at:", 3):
            let parts = Expression.function(
                receiver: operands[0], selector: "componentsSeparatedByString:", arguments: [operands[1]])
            guard case .integer(var index)? = PlainNumber(try value(of: operands[2], in: scope).plain) else {
                return .null
            }
            // A negative index counts from the end.
            if index < 0, case .integer(let count) = try place(.size, in: parts, scope) { index += count }
            return try place(.at(index), in: parts, scope)
        case ("random", _), ("random:", _), ("randomn:", _): return try randomNumber(selector, operands, in: scope)
        case ("count:", _), ("sum:", _), ("average:", _), ("min:", _), ("max:", _), ("median:", _), ("mode:", _),
            ("stddev:", _):
            return try collected(selector, operands, in: scope)
        case (Expression.validSelector, 3): return try valid(operands[0], as: operands[1], in: scope) ?? .null
        case (Expression.isInvalidSelector, 3):
            return .boolean(try valid(operands[0], as: operands[1], in: scope) == nil)
        default: return nil
        }
    }

    /// The value as an attribute of a type stores it; nil if it cannot be computed.
    private func valid(
        _ value: Expression, as type: Expression, in scope: PlainScope
    ) throws -> PlainValue? {
        guard case .constant(.string(let name)) = type, let type = AttributeType(sourceName: name) else {
            throw PlainFailure("no attribute type")
        }
        do {
            return try PlainConversion.stored(try self.value(of: value, in: scope), as: type)
        } catch is PlainFailure {
            return nil
        }
    }

    private func entry(
        for key: Expression, in table: Expression, _ scope: PlainScope
    ) throws -> PlainValue {
        guard case .constant(.string(let table)) = table else { throw PlainFailure("no table") }
        let key = try value(of: key, in: scope).plain
        guard case .text(let name) = try PlainConversion.stored(key, as: .string) else { return .null }
        return PlainValue.json(
            try PlainJSON(Array(table.utf8)).member(String(decoding: name, as: UTF8.self)) ?? .null
        ).plain
    }

    private func cast(_ arguments: [Expression], in scope: PlainScope) throws -> PlainValue {
        guard arguments.count == 2, case .constant(.string(let name)) = arguments[1] else {
            throw PlainFailure("a cast needs the name of a type")
        }
        let value = try value(of: arguments[0], in: scope).plain
        switch name {
        case "NSDate": return try PlainConversion.stored(value, as: .date)
        case "NSNumber" where PlainNumber(value) != nil: return value
        case "NSNumber", "NSDecimalNumber": return try PlainConversion.stored(value, as: .double)
        case "NSString": return try PlainConversion.stored(value, as: .string)
        case "NSUUID": return try PlainConversion.stored(value, as: .uuid)
        default: throw PlainFailure("\(name) is not a known type")
        }
    }
}
