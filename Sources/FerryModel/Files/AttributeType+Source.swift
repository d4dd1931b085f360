extension AttributeType {
    /// The type by the name that source files and messages use.
    package init?(sourceName: String) {
        guard let type = Self.allCases.first(where: { $0.sourceName == sourceName }) else { return nil }
        self = type
    }

    /// The name that source files use.
    package var sourceName: String {
        switch self {
        case .undefined: "Undefined"
        case .integer16: "Integer 16"
        case .integer32: "Integer 32"
        case .integer64: "Integer 64"
        case .decimal: "Decimal"
        case .double: "Double"
        case .float: "Float"
        case .string: "String"
        case .boolean: "Boolean"
        case .date: "Date"
        case .binary: "Binary"
        case .uuid: "UUID"
        case .uri: "URI"
        case .transformable: "Transformable"
        case .objectID: "Object ID"
        case .composite: "Composite"
        }
    }
}
