internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// The statements of a mapping that finds an object by its values or creates it.
extension RowStatements {
    /// The tables of one chunk of a find-or-create mapping.
    ///
    /// They hold every row that was read, and one row per set of values that is not remembered: its first row `n`, and
    /// the object that has these values, once it is known.
    func stagingTables() throws(FerryError) -> [String] {
        let values = try uniqueColumns().enumerated().map { "v\($0) \($1.type)" }.joined(separator: ", ")
        return [
            """
            CREATE TEMP TABLE \(staged) (
                n INTEGER PRIMARY KEY, source INTEGER, element INTEGER, object INTEGER, \(values))
            """,
            "CREATE TEMP TABLE \(groups) (n INTEGER PRIMARY KEY, \(values), destination INTEGER, isNew INTEGER)",
            "CREATE INDEX temp.\(groups)_values ON \(groups) (\(valueNames.joined(separator: ", ")))",
        ]
    }

    var stagingCleanUp: [String] { ["DELETE FROM temp.\(staged)", "DELETE FROM temp.\(groups)"] }

    /// Makes what the mapping remembers usable in its statements.
    func register(_ known: KnownObjects) throws(DatabaseError) {
        try known.register(find: findKnown, keep: keepKnown, values: mapping.unique.count, on: context.connection)
    }

    /// Reads the rows of the range into the staging table, in order.
    ///
    /// The elements of a JSON array come in their order by themselves: the outer loop is over keys, and the inner one
    /// has no other way to go.
    func stage() throws(FerryError) -> SQL {
        var scope = try scope()
        var values: [String] = []
        for (name, _) in zip(mapping.unique, try uniqueColumns()) {
            guard let attribute = context.destination.model.attribute(name, of: mapping.destination) else {
                throw FerryError(.internalError, "\(mapping.destination) has no attribute \(name).")
            }
            let rule = mapping.attributes.first { $0.name == name }
            values.append(try expressions.attribute(attribute, from: rule, in: &scope) ?? "NULL")
        }
        let element = elementNumber(in: scope)
        // A JSON element has no key of its own: its number finds it again.
        let isJSON = mapping.iteration.map { scope.jsonElements[$0.variable] != nil } ?? false
        let selected = ["s.Z_PK", element, scope.elementKey ?? "NULL"] + values
        return SQL(
            text: """
                INSERT INTO temp.\(staged) (source, element, object, \(valueNames.joined(separator: ", ")))
                SELECT \(selected.joined(separator: ", ")) FROM \(scope.from)\(scope.where) ORDER BY \(isJSON ? "s.Z_PK" : scope.order)
                """, parameters: scope.parameters)
    }

    /// Groups the staged rows whose values are not remembered and looks each set of values up, once.
    ///
    /// The sets are read in the order of the lookup's index, so that neighbours in it are met one after another.
    func find() -> String {
        let lookup = ScratchDatabase.lookup(of: mapping.destination, by: mapping.unique)
        let equal = valueNames.map { "l.\($0) IS g.\($0)" }.joined(separator: " AND ")
        let values = valueNames.joined(separator: ", ")
        return """
            INSERT INTO temp.\(groups) (n, \(values), destination)
            SELECT first, \(values),
                (SELECT l.destination FROM \(lookup) AS l WHERE \(equal) ORDER BY l.destination LIMIT 1)
            FROM (SELECT min(n) AS first, \(values) FROM temp.\(staged)
                WHERE \(findKnown)(\(values)) IS NULL GROUP BY \(values)) AS g
            """
    }

    /// Gives a key to each set of values that was not found, in the order of the first rows that have them.
    func create() -> String {
        """
        UPDATE temp.\(groups) SET isNew = TRUE, destination = :last + p.place FROM (
            SELECT n AS first, row_number() OVER (ORDER BY n) AS place FROM temp.\(groups)
            WHERE destination IS NULL) AS p
        WHERE n = p.first
        """
    }

    /// The new objects' rows, with the values of the first source object.
    func freshRows() throws(FerryError) -> SQL {
        let table = try context.sourceTable(of: mapping)
        var scope = SourceScope(
            layout: context.source,
            from:
                "temp.\(groups) AS f JOIN temp.\(staged) AS g ON g.n = f.n JOIN source.\(table) AS s ON s.Z_PK = g.source",
            source: .init(alias: "s", entity: mapping.source))
        scope.require("f.isNew")
        if let iteration = mapping.iteration {
            if let entity = IterationPath.entity(of: mapping, in: context.source.model) {
                scope.join("JOIN \(try scope.table(of: entity)) AS e ON e.Z_PK = g.object")
                scope.bind(iteration.variable, to: .init(alias: "e", entity: entity))
            } else {
                try add(iteration, filtered: true, to: &scope)
                scope.require("\(scope.elementOrder ?? "NULL") = g.element")
            }
        }
        let one = scope.parameters.add(.integer(1))
        return SQL(
            text: try insert(key: "f.destination", version: one, from: &scope), parameters: scope.parameters)
    }

    /// The associations of all staged rows, each with the object of its values.
    func stagedAssociations() -> String {
        let equal = valueNames.map { "f.\($0) IS g.\($0)" }.joined(separator: " AND ")
        let values = valueNames.map { "g.\($0)" }.joined(separator: ", ")
        return """
            INSERT INTO \(ScratchDatabase.association(of: mapping)) (source, element, object, destination)
            SELECT g.source, g.element, g.object,
                ifnull(\(findKnown)(\(values)), (SELECT f.destination FROM temp.\(groups) AS f WHERE \(equal)))
            FROM temp.\(staged) AS g ORDER BY g.n
            """
    }

    /// Remembers what the chunk has looked up or created, for the chunks after it.
    func remember() -> String {
        "SELECT count(\(keepKnown)(destination, \(valueNames.joined(separator: ", ")))) FROM temp.\(groups)"
    }

    private var findKnown: String { "ferry_find_\(mapping.position)" }
    private var keepKnown: String { "ferry_keep_\(mapping.position)" }
    private var staged: String { "staged_\(mapping.position)" }
    private var groups: String { "groups_\(mapping.position)" }
    private var valueNames: [String] { mapping.unique.indices.map { "v\($0)" } }

    func uniqueColumns() throws(FerryError) -> [Column] {
        var columns: [Column] = []
        for name in mapping.unique {
            guard let column = context.destination.column(of: name, in: mapping.destination) else {
                throw FerryError(.internalError, "The new store has no column for \(mapping.destination).\(name).")
            }
            columns.append(column)
        }
        return columns
    }

    var stagedCount: String { "SELECT count(*) FROM temp.\(staged)" }
}
