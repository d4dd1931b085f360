internal import FerryModel

/// The groups that the columns of a new entity table stand in, in their order.
enum ColumnGroup: Int, CaseIterable {
    /// Integers and Booleans, then per entity its to-one relationships and the inverseless to-many ones that end in it.
    case integers
    /// `Z_FOK_…`
    case orderKeys
    case reals
    case decimals
    case strings
    case uris
    case uuids
    case transformables
    case binaries
}

extension AttributeType {
    /// The declared type of an attribute's column and its place among the columns, or nil when the type has no column.
    var columnTypeAndGroup: (type: String, group: ColumnGroup)? {
        switch self {
        case .integer16, .integer32, .integer64, .boolean: ("INTEGER", .integers)
        case .double, .float: ("FLOAT", .reals)
        case .date: ("TIMESTAMP", .reals)
        case .decimal: ("DECIMAL", .decimals)
        case .string: ("VARCHAR", .strings)
        case .uri: ("VARCHAR", .uris)
        case .uuid: ("BLOB", .uuids)
        case .transformable: ("BLOB", .transformables)
        case .binary: ("BLOB", .binaries)
        case .undefined, .objectID, .composite: nil
        }
    }
}
