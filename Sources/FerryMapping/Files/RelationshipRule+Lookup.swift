internal import FerryBase
internal import FerryExpression

extension RelationshipRule {
    private static let bySourceRelationship = "destinationInstancesForSourceRelationshipNamed:sourceInstances:"
    private static let byEntityMapping = "destinationInstancesForEntityMappingNamed:sourceInstances:"

    /// The rule that a relationship's value expression stands for: one of the migration manager's two lookups.
    ///
    /// - Throws: ``FerryError`` `.unsupported` for any other expression.
    init(lookup expression: Expression) throws(FerryError) {
        if case .constant(.null) = expression {
            self = .empty
            return
        }
        guard case .function(receiver: .variable("manager"), let selector, let arguments) = expression,
            arguments.count == 2, case .constant(.string(let name)) = arguments[0]
        else { throw Self.unsupported }
        switch selector {
        case Self.byEntityMapping: self = .destinations(ofMapping: name, from: arguments[1])
        // The name is that of the source relationship, which the path of the second argument already gives.
        case Self.bySourceRelationship: self = .destinationsOfAnyMapping(from: arguments[1])
        default: throw Self.unsupported
        }
    }

    private static var unsupported: FerryError {
        FerryError(.unsupported, "it is neither of the migration manager's two lookups of destination objects.")
    }
}
