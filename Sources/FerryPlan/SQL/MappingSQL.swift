package import FerryBase
internal import FerryExpression
package import FerryMapping
internal import FerryModel
internal import FerryStore

/// Writes the SQL that copies one entity mapping's rows over a range of source keys.
///
/// The range is bound as `:low` (exclusive) and `:high`, the highest key so far as `:last`.
package struct MappingSQL {
    package let step: StepSQL
    package let mapping: ResolvedEntityMapping

    package init(_ mapping: ResolvedEntityMapping, in step: StepSQL) { (self.step, self.mapping) = (step, mapping) }

    // MARK: Reading

    /// A statement over a table, in which `s` is the source object of the mapping.
    package func scope(from table: String, parameters: Parameters = Parameters()) -> SourceScope {
        var scope = SourceScope(
            mapping.expressionScope(in: step.source.model), from: table, of: step.source)
        scope.valueIndexes = step.indexes
        scope.parameters = parameters
        return scope
    }

    /// The source objects of the mapping in the range, with one row for each element of the iteration.
    ///
    /// `filtered`: only rows that match the filter, and no rows of skipped JSON. `countsDropped`: the statement calls
    /// ``droppingFunction`` for each of the others. `notIndexed`: the rows must come in the order of their keys.
    /// `parameters`: existing bindings.
    package func scope(
        filtered: Bool = true, countsDropped: Bool = false, notIndexed: Bool = false,
        parameters: Parameters = Parameters()
    ) throws(FerryError) -> SourceScope {
        var scope = scope(
            from: "source.\(try step.sourceTable(of: mapping)) AS s\(notIndexed ? " NOT INDEXED" : "")",
            parameters: parameters)
        scope.require("s.Z_PK > :low AND s.Z_PK <= :high")
        scope.require("s.Z_ENT = \(scope.parameters.add(.integer(try step.sourceNumber(of: mapping))))")
        if let iteration = mapping.iteration { try add(iteration, to: &scope) }
        guard filtered else { return scope }
        // A row that fails a condition is not tested by the next.
        var conditions: [String] = []
        // A skipped invalid text gives one row without an ordinal: that row is counted and dropped.
        if mapping.iteration?.skipsInvalid == true, let order = scope.elementOrder {
            conditions.append("\(order) IS NOT NULL")
        }
        if let filter = mapping.filter { conditions.append(try condition(filter, in: &scope)) }
        for condition in conditions {
            scope.require(countsDropped ? "(\(condition) OR \(droppingFunction)(\(place(in: scope))))" : condition)
        }
        return scope
    }

    /// Whether a statement can drop rows.
    package var dropsRows: Bool { mapping.filter != nil || mapping.iteration?.skipsInvalid == true }

    /// The function that counts the rows that a statement drops; it is always false.
    package var droppingFunction: String { "ferry_dropped_\(mapping.position)" }

    /// What differs between the rows: with it, SQLite calls ``droppingFunction`` for each element of each object, not once
    /// for an object or for an element that several objects share.
    private func place(in scope: SourceScope) -> String {
        (["s.Z_PK"] + [scope.elementKey ?? scope.elementOrder].compactMap { $0 }).joined(separator: ", ")
    }

    /// Adds the objects or elements over which the mapping iterates.
    ///
    /// `inPieces`: whether a stored JSON text is read in pieces, for a statement that scans each text once.
    package func add(
        _ iteration: EntityMapping.Iteration, inPieces: Bool = true, to scope: inout SourceScope
    ) throws(FerryError) {
        try placed { () throws(FerryError) in
            try scope.iterate(over: iteration, inPieces: inPieces) { step.program.fills.damage.isSound($0, of: $1) }
        }
    }

    // MARK: Writing

    /// The destination columns that the mapping sets, with the SQL of their values.
    package func columns(in scope: inout SourceScope) throws(FerryError) -> [(column: String, value: ColumnValue)] {
        var columns: [(column: String, value: ColumnValue)] = []
        for column in step.program.fills.columns[mapping.position] {
            columns.append((column.name, try value(of: column.source, in: &scope)))
        }
        for (assignment, contribution) in step.program.fills.inline(of: mapping) {
            columns += try keys(of: assignment, contribution, in: &scope)
        }
        return columns
    }

    package func insert(key: String, version: String, from scope: inout SourceScope) throws(FerryError) -> String {
        let columns = try columns(in: &scope)
        let number = scope.parameters.add(.integer(try step.destinationNumber(of: mapping)))
        let names = ["Z_PK", "Z_ENT", "Z_OPT"] + columns.map(\.column)
        let values = [key, number, version] + columns.map(\.value.sql)
        return """
            INSERT INTO main.\(try step.destinationTable(of: mapping)) (\(names.joined(separator: ", ")))
            SELECT \(values.joined(separator: ", ")) FROM \(scope.from)\(scope.where)
            """
    }

    /// The statement that writes the rows of a mapping without `unique`.
    package func rows() throws(FerryError) -> BoundSQL {
        var scope = try scope(countsDropped: true, notIndexed: comesByKey)
        let keepsKey = mapping.keepsPrimaryKey
        let version = keepsKey ? "s.Z_OPT" : scope.parameters.add(.integer(1))
        let text = try insert(key: keepsKey ? "s.Z_PK" : newKey(in: scope), version: version, from: &scope)
        return BoundSQL(text, scope.parameters)
    }

    /// The statement that writes the associations, with the same keys in the same order as ``rows()``.
    package func associations() throws(FerryError) -> BoundSQL {
        let scope = try scope(notIndexed: comesByKey)
        let element = elementNumber(in: scope)
        return BoundSQL(
            """
            \(ScratchTables.insertion(intoAssociationOf: mapping))
            SELECT s.Z_PK, \(element), \(scope.elementKey ?? "NULL"), \(newKey(in: scope))
            FROM \(scope.from)\(scope.where)
            """, scope.parameters)
    }

    /// Counts the objects and elements in the range that the mapping does not drop.
    package func count() throws(FerryError) -> BoundSQL {
        let scope = try scope()
        return BoundSQL("SELECT count(*) FROM \(scope.from)\(scope.where)", scope.parameters)
    }

    package func elementNumber(in scope: SourceScope) -> String {
        guard mapping.iteration != nil else { return "TRUE" }
        if scope.jsonElements != nil, let ordinal = scope.elementOrder { return ordinal }
        if let position = scope.position { return position }
        return "row_number() OVER (PARTITION BY s.Z_PK ORDER BY \(scope.order))"
    }

    /// Whether a filtered mapping counts its keys, so that SQLite must not use an index for the filter.
    private var comesByKey: Bool { !mapping.keepsPrimaryKey && mapping.isOneToOne && mapping.filter != nil }

    /// SQL of the next key for each row; rows that come in the order of their keys are counted.
    private func newKey(in scope: SourceScope) -> String {
        // With a filter over a relationship, SQLite may begin with the related objects.
        guard mapping.isOneToOne, scope.readsOneTable else {
            return ":last + row_number() OVER (ORDER BY \(scope.order))"
        }
        return key(of: mapping, at: scope.source)
    }
}

extension MappingSQL {
    /// The function that numbers the objects that a mapping makes, in a statement that reads their sources in the order of
    /// their keys: that of the mapping itself, or of one with a foreign key to its objects.
    package func keyFunction(of made: ResolvedEntityMapping) -> String {
        "ferry_key_\(made.position)_\(mapping.position)"
    }

    /// SQL of the next key for an object of a mapping; evaluate it only for rows that the mapping writes.
    func key(of made: ResolvedEntityMapping, at object: SourceScope.Object) -> String {
        "\(keyFunction(of: made))(\(object.alias).Z_PK)"
    }

    /// The function that finds or creates the object of a row.
    package var findFunction: String { "ferry_find_\(mapping.position)" }

    /// The virtual table of new objects whose rows are not yet written.
    package var newObjects: String { "ferry_fresh_\(mapping.position)" }

    /// Reads the rows of the range in order and calls a function for each.
    ///
    /// The function takes the source key, the number and the key of the element, and the values of `unique`. With
    /// `associates`, it returns the key of the object, and the statement writes the association.
    package func find(associates: Bool) throws(FerryError) -> BoundSQL {
        // With NOT INDEXED, SQLite reads rows in the order of their keys, and sorts nothing after the function calls.
        var scope = try scope(countsDropped: true, notIndexed: true)
        let values = try uniqueValues(in: &scope)
        let place = ["s.Z_PK", elementNumber(in: scope), scope.elementKey ?? "NULL"]
        // The elements of a JSON array come in order: the outer loop is over keys, and a virtual table has one scan
        // order. Related objects must be sorted before the function calls.
        let isInOrder = mapping.iteration == nil || scope.jsonElements != nil
        let names = isInOrder ? place + values : ["source", "element", "object"] + values.indices.map { "v\($0)" }
        var (with, from) = ("", "\(scope.from)\(scope.where) ORDER BY s.Z_PK")
        if !isInOrder {
            // LIMIT keeps SQLite from removing the ORDER BY.
            let all = scope.parameters.add(.integer(-1))
            with = """
                WITH elements (\(names.joined(separator: ", "))) AS MATERIALIZED (
                    SELECT \((place + values).joined(separator: ", ")) FROM \(scope.from)\(scope.where)
                    ORDER BY \(scope.order) LIMIT \(all))

                """
            from = "elements"
        }
        let call = "\(findFunction)(\(names.joined(separator: ", ")))"
        if associates { with += ScratchTables.insertion(intoAssociationOf: mapping) + "\n" }
        let selected = (associates ? names.prefix(3) + [call] : [call]).joined(separator: ", ")
        return BoundSQL("\(with)SELECT \(selected) FROM \(from)", scope.parameters)
    }

    /// The statement that writes new objects' rows; `objects` is a virtual table of their keys and first source rows.
    package func newObjectRows(from objects: String) throws(FerryError) -> BoundSQL {
        let table = try step.sourceTable(of: mapping)
        var scope = scope(from: "\(objects) AS f CROSS JOIN source.\(table) AS s ON s.Z_PK = f.source")
        if let iteration = mapping.iteration {
            if let entity = IterationPath.entity(of: mapping, in: step.source.model) {
                scope.join("CROSS JOIN \(try scope.table(of: entity)) AS e ON e.Z_PK = f.object")
                scope.bind(iteration.variable, to: .init(alias: "e", entity: entity))
                if iteration.position != nil { scope.position = "f.element" }
            } else {
                // This statement scans the text once for each new object, and pieces would be read each time.
                try add(iteration, inPieces: false, to: &scope)
                scope.require("\(scope.elementOrder ?? "NULL") = f.element")
            }
        }
        let one = scope.parameters.add(.integer(1))
        let text = try insert(key: "f.destination", version: one, from: &scope)
        return BoundSQL(text, scope.parameters)
    }
}
