internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// The keys of an entity's source objects by the hash of one attribute's value, or of a to-one relationship's key, in a
/// temporary table of the connection.
///
/// Hashes of decoded values hold for every encoding, affinity and option of a comparison; equal values have equal ones.
final class EqualValues {
    struct Key: Hashable {
        let entity: String
        let name: String
        let options: String
    }

    private let connection: Connection
    private let options: String
    private let isOfRelationship: Bool
    private let find: String
    /// Statements not in use: a look-up inside a look-up needs one of its own.
    private var finders: [Statement] = []

    /// Nil for values that are not in one column of the entity's rows, or whose bytes can be in a file.
    init?(_ key: Key, number: Int, in context: VerificationContext) throws {
        let column: String
        if let attribute = context.sourceModel.attribute(key.name, of: key.entity) {
            guard !attribute.isTransient, attribute.type != .composite, !attribute.allowsExternalStorage,
                let stored = context.source.column(of: key.name, in: key.entity)
            else { return nil }
            (column, isOfRelationship) = (stored.name, false)
        } else if case .foreignKey(_, let stored, _, _)? = context.source.storage(of: key.name, in: key.entity) {
            // The entity of the related object is compared with the whole condition; objects hash by key here.
            (column, isOfRelationship) = (stored, true)
        } else {
            return nil
        }
        (connection, options) = (context.connection, key.options)
        let table = "equal_values_\(number)"
        let function = "ferry_hash_of_\(table)"
        // Dates and decimals need not be decoded: numbers hash as doubles.
        try connection.register(function, arguments: 1, deterministic: false) {
            [isOfRelationship, options, weak context] arguments, result in
            let value: PlainValue =
                switch arguments.storageClass(0) {
                case .null: .null
                case _ where isOfRelationship: .object(PlainObject(entity: "", key: arguments.integer(0)))
                case .integer: .integer(arguments.integer(0))
                case .real: .real(arguments.real(0))
                case .text: arguments.withBytes(0) { .text(Array($0)) }
                case .blob: arguments.withBytes(0) { .blob(Array($0)) }
                }
            result.set(value.equalityHash(options: options))
            try context?.advance(key.entity, done: 0, total: nil)
        }
        // Sorted at once, so that memory does not grow with the rows.
        try connection.execute(
            """
            CREATE TABLE temp.\(table) (hash INTEGER, key INTEGER, PRIMARY KEY (hash, key)) WITHOUT ROWID;
            INSERT INTO temp.\(table) SELECT \(function)(\(column)), Z_PK
            FROM source.\(try context.sourceTable(of: key.entity).name)
            WHERE Z_ENT = \(try context.sourceNumber(of: key.entity)) ORDER BY 1, 2
            """)
        find = "SELECT key FROM temp.\(table) WHERE hash = ? ORDER BY key"
    }

    /// Calls the body with the keys of the objects that may have a value, in order.
    ///
    /// - Returns: False if only a scan can tell: a relationship without object may have a dangling key.
    func each(_ value: PlainValue, _ body: (Int64) throws -> Void) throws -> Bool {
        var sought = value
        if isOfRelationship {
            guard case .object(let object) = value else { return false }
            sought = .object(PlainObject(entity: "", key: object.key))
        }
        let statement = try finders.popLast() ?? connection.prepare(find)
        defer {
            statement.reset()
            finders.append(statement)
        }
        try statement.bind(sought.equalityHash(options: options), at: 1)
        while try statement.step() { try body(statement.integer(0)) }
        return true
    }
}
