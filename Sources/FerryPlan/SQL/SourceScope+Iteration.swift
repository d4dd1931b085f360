package import FerryBase
package import FerryExpression
package import FerryMapping
internal import FerryModel
internal import FerryStore

/// The objects or elements over which an entity mapping iterates.
extension SourceScope {
    /// Adds the elements of an iteration.
    ///
    /// `inPieces`: whether a stored JSON text is read in pieces, for a statement that scans each text once. `isSound`:
    /// whether every link of a relationship of an entity leads to an object.
    package mutating func iterate(
        over iteration: EntityMapping.Iteration, inPieces: Bool = true,
        isSound: (_ relationship: String, _ entity: String) -> Bool = { _, _ in false }
    ) throws(FerryError) {
        if case .json(let text, let key) = iteration.elements {
            try addElements(of: text, key, inPieces: inPieces, skipsInvalid: iteration.skipsInvalid)
            if iteration.position != nil { position = elementOrder }
            return
        }
        if !iteration.elements.isPath {
            let object = try join(objectsOf: iteration.elements)
            bind(iteration.variable, to: object)
            elementKey = object.key
            return
        }
        guard let names = IterationPath.relationships(of: iteration.elements), let last = names.last else {
            throw FerryError(
                .badExpression, "`\(iteration.elements)` is not a relationship, so forEach cannot iterate over it.",
                remedy: "Use a relationship of $source, or JSON($source.attribute, 'key').")
        }
        let start = try follow(Array(names.dropLast()), from: source)
        let element =
            iteration.position == nil
            ? try expand(last, from: start, isSound: isSound(last, start.entity))
            : try expandWithPosition(last, from: start)
        bind(iteration.variable, to: element.object)
        elementOrder = element.order
        elementKey = element.object.key
    }

    private mutating func addElements(
        of text: Expression, _ key: String, inPieces: Bool, skipsInvalid: Bool
    ) throws(FerryError) {
        let alias = newAlias("e")
        let paths = ":paths_\(alias)"
        parameters.set(paths, .blob(JSONElementTable.encode([])))
        var document = try translate { translator throws(FerryError) in try translator.value(text) }
        var place = ["NULL", "NULL", "NULL"]
        if inPieces, let stored = try stored(text), let table = layout.table(of: stored.object.entity) {
            // Only the type is read here; the function reads the text in pieces.
            let isText = "typeof(\(stored.sql)) IN ('text', 'blob')"
            document = "CASE WHEN \(isText) THEN NULL ELSE \(stored.sql) END"
            place = [
                "CASE WHEN \(isText) THEN \(stored.object.alias).Z_PK END", parameters.add(.text(table.name)),
                parameters.add(.text(stored.column)),
            ]
        }
        let arguments =
            [document, parameters.add(.text(key)), parameters.add(.integer(skipsInvalid ? 1 : 0)), paths] + place
        join("CROSS JOIN \(JSONElementTable.function)(\(arguments.joined(separator: ", "))) AS \(alias)")
        jsonElements = JSONElementTable(alias: alias, paths: paths)
        elementOrder = "\(alias).ordinal"
    }

    /// The condition under which an entity mapping reads an object: its entity and its filter.
    package mutating func condition(
        that object: Object, isReadBy mapping: ResolvedEntityMapping
    ) throws(FerryError) -> String {
        let number = parameters.add(.integer(try layout.knownNumber(of: mapping.source, in: "source")))
        let isOfEntity = "\(object.alias).Z_ENT = \(number)"
        guard let filter = mapping.filter else { return isOfEntity }
        let own = (source, expressions)
        source = Object(alias: object.alias, entity: mapping.source)
        expressions = mapping.expressionScope(in: layout.model)
        defer { (source, expressions) = own }
        return "(\(isOfEntity) AND \(try condition(filter)))"
    }

    /// The stored value that an expression reads unchanged; nil for other expressions.
    private mutating func stored(_ expression: Expression) throws(FerryError) -> StoredValue? {
        guard
            case .column(let path) = try ExpressionTranslation(scope: expressions).value(expression).computation
        else { return nil }
        return try stored(path)
    }

    /// Joins the objects of an expression that is not a path, each once.
    package mutating func join(objectsOf expression: Expression) throws(FerryError) -> Object {
        let alias = newAlias("t")
        var entity = ""
        let condition = try translate { translator throws(FerryError) in
            try translator.condition(that: expression) { name throws(FerryError) in
                entity = name
                return "\(alias).Z_PK"
            }
        }
        join("JOIN \(try table(of: entity)) AS \(alias) ON \(condition)")
        return Object(alias: alias, entity: entity)
    }
}
