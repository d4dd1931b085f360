internal import FerryBase
internal import FerryExpression

/// Reads Ferry's own mapping file.
struct JSONMappingFile {
    private static let formatVersion = 1
    static let keys = ["ferry", "source", "destination", "extends", "entityMappings", "partitions", "tables", "note"]
    private static let entityMappingKeys = [
        "name", "source", "destination", "where", "forEach", "onInvalid", "unique", "nilIsEqual", "keep", "automatic",
        "attributes", "relationships", "policy", "note",
    ]
    /// Variables that Core Data binds itself; an iteration cannot take these names.
    private static let boundVariables = [
        "source", "destination", "manager", "entityMapping", "propertyMapping", "entityPolicy",
    ]

    /// The texts of tables by name, which expressions contain in place of the names.
    private let tables: [String: String]

    /// Reads a file's bytes; `extended` reads the mapping model at a path relative to this file.
    static func read(
        _ bytes: [UInt8], name: String, path: String, faults: JSONFaults?,
        extended: (String) throws(FerryError) -> MappingModel
    ) throws(FerryError) -> MappingModel {
        let file = fileName(of: path)
        let root = try JSONCursor(bytes, of: file, code: .badMapping, faults: faults)
        let members = try root.members(allowing: keys)
        if let version = members["ferry"] {
            guard case .number(let text) = version.node.value, text == "\(formatVersion)" else {
                throw version.error(
                    "this version of Ferry does not support the file's format version; it supports \(formatVersion)",
                    remedy: "Use the version of Ferry that the file was written for.")
            }
        }

        var base: MappingModel?
        if let extends = members["extends"] {
            let target = try extends.name()
            do {
                base = try extended(target)
            } catch {
                var error = error
                error.message = "\(file):\(extends.node.line): extends: \(error.message)"
                throw error
            }
        }
        if base == nil, members["entityMappings"] == nil { throw root.error("the key \"entityMappings\" is missing") }
        try note(in: members)
        let reader = JSONMappingFile(tables: try members["tables"].map(tables) ?? [:])
        let own = try members["entityMappings"].map(reader.entityMappings) ?? []
        let all = replacing(own, in: base?.entityMappings ?? [])
        return MappingModel(
            name: name, path: path,
            sourceVersion: try version("source", in: members, base?.sourceVersion, root),
            destinationVersion: try version("destination", in: members, base?.destinationVersion, root),
            entityMappings: all,
            partitions: try members["partitions"].map { (cursor) throws(FerryError) in
                try partitions(cursor, of: all.map(\.name))
            } ?? base?.partitions,
            warnings: base?.warnings ?? [])
    }

    private static func version(
        _ key: String, in members: [String: JSONCursor], _ extended: String?, _ root: JSONCursor
    ) throws(FerryError) -> String {
        if let own = members[key] { return try own.name() }
        guard let extended else {
            throw root.error(
                "the key \"\(key)\" is missing",
                remedy: "Name the \(key) model version, or extend a mapping model that does.")
        }
        return extended
    }

    /// Replaces base mappings by own mappings of the same name, and appends the other own mappings.
    private static func replacing(_ own: [EntityMapping], in base: [EntityMapping]) -> [EntityMapping] {
        var result = base
        for mapping in own {
            if let index = result.firstIndex(where: { $0.name == mapping.name }) {
                result[index] = mapping
            } else {
                result.append(mapping)
            }
        }
        return result
    }

    /// Tables by name, each as the text of a JSON object.
    private static func tables(_ cursor: JSONCursor) throws(FerryError) -> [String: String] {
        var tables: [String: String] = [:]
        for (name, table) in try cursor.members() {
            var members: [String] = []
            for (key, value) in try table.members() {
                guard let text = value.node.scalarText else {
                    throw value.error("a table can contain only strings, numbers, true, false and null")
                }
                members.append("\(JSONNode.quoted(key)):\(text)")
            }
            tables[name] = "{\(members.joined(separator: ","))}"
        }
        return tables
    }

    private static func partitions(_ cursor: JSONCursor, of known: [String]) throws(FerryError) -> [[String]] {
        var partitions: [[String]] = []
        for element in try cursor.elements() {
            let names = try element.names()
            if names.isEmpty { throw element.error("a partition needs at least one entity mapping") }
            for name in names {
                if partitions.joined().contains(name) {
                    throw element.error("\"\(name)\" is already in an earlier partition")
                }
                guard known.contains(name) else {
                    throw element.error(
                        "there is no entity mapping \"\(name)\""
                            + NearNames.clause(for: name, among: known, otherwise: ""))
                }
            }
            partitions.append(names)
        }
        return partitions
    }

    // MARK: Entity mappings

    private func entityMappings(_ cursor: JSONCursor) throws(FerryError) -> [EntityMapping] {
        var mappings: [EntityMapping] = []
        for element in try cursor.elements() {
            try element.collecting(leavesGap: true) { () throws(FerryError) in
                let mapping = try entityMapping(element)
                if mappings.contains(where: { $0.name == mapping.name }) {
                    throw element.error("a second entity mapping is named \"\(mapping.name)\"")
                }
                mappings.append(mapping)
            }
        }
        return mappings
    }

    private func entityMapping(_ cursor: JSONCursor) throws(FerryError) -> EntityMapping {
        let members = try cursor.members(allowing: Self.entityMappingKeys)
        try Self.note(in: members)
        let policy = try members["policy"].flatMap { (cursor) throws(FerryError) in
            cursor.openText == nil ? try cursor.name() : nil
        }
        guard let destination = members["destination"] else {
            throw cursor.error(
                "the key \"destination\" is missing",
                remedy: "Name the destination entity, or write null to drop the source entity's objects.")
        }
        let destinationName = destination.isNull || destination.openText != nil ? nil : try destination.name()
        let source = try members["source"].flatMap { (cursor) throws(FerryError) in
            cursor.isNull || cursor.openText != nil ? nil : try cursor.name()
        }
        if source == nil, destinationName == nil || policy == nil, members["source"]?.openText == nil {
            throw cursor.error(
                "an entity mapping without \"source\" creates no objects",
                remedy: "Name the source entity, or the \"policy\" that creates the objects.")
        }
        let iteration = try members["forEach"].map { (cursor) throws(FerryError) in
            try self.iteration(cursor, onInvalid: members["onInvalid"])
        }
        if iteration == nil, let onInvalid = members["onInvalid"] {
            throw onInvalid.error("it applies to elements of \"forEach\", which is missing")
        }
        var mapping = EntityMapping(
            name: try members["name"]?.name()
                ?? EntityMapping.derivedName(source: source, destination: destinationName),
            source: source, destination: destinationName, iteration: iteration, policyClassName: policy)
        if let members = try members["forEach"]?.members() {
            mapping.keepText(of: elements(among: members).value, as: "forEach")
        }
        mapping.keepIfOpen(members["source"], "the source entity")
        mapping.keepIfOpen(destination, "the destination entity")
        if let cursor = members["where"], !mapping.keepIfOpen(cursor, "the filter predicate") {
            try cursor.collecting { () throws(FerryError) in
                mapping.filter = try parsed(cursor, Predicate.parse, Predicate.replacing)
            }
            mapping.keepText(of: cursor, as: "where")
        }
        mapping.unique = try members["unique"].map(unique) ?? []
        if let cursor = members["nilIsEqual"] {
            mapping.nilIsEqual = try cursor.boolean()
            if mapping.unique.isEmpty {
                throw cursor.error("it applies to the attributes of \"unique\", which is missing")
            }
        }
        if let cursor = members["keep"] {
            mapping.keep = try keep(cursor)
            guard !mapping.unique.isEmpty, mapping.iteration == nil else {
                throw cursor.error(
                    "it chooses the object that \"unique\" keeps, and has no effect \(mapping.unique.isEmpty ? "without it" : "with \"forEach\"")"
                )
            }
        }
        mapping.isAutomatic = try members["automatic"]?.boolean() ?? true
        for (name, cursor) in try members["attributes"]?.members() ?? [] {
            // The rule after an error.
            mapping.attributes[name] = .empty
            try cursor.collecting { () throws(FerryError) in
                mapping.attributes[name] = try attribute(cursor, name, of: &mapping)
            }
        }
        for (name, cursor) in try members["relationships"]?.members() ?? [] {
            mapping.relationships[name] = .empty
            try cursor.collecting { () throws(FerryError) in
                mapping.relationships[name] = try relationship(cursor, name, of: &mapping)
            }
        }
        mapping.keepIfOpen(members["policy"], "what the policy did")
        return mapping
    }

    /// Checks a note for readers of the file: a text, or an array of lines.
    private static func note(in members: [String: JSONCursor]) throws(FerryError) {
        guard let note = members["note"] else { return }
        if case .string = note.node.value { return }
        for line in try note.elements() { _ = try line.string() }
    }

    private func keep(_ cursor: JSONCursor) throws(FerryError) -> EntityMapping.Keep {
        let word = try cursor.string()
        switch word {
        case "first": return .first
        case "last": return .last
        default:
            let start = "newest by "
            guard word.hasPrefix(start) else {
                throw cursor.error(
                    "expected \"first\", \"last\", or \"newest by\" and an expression: \"newest by $source.date\"")
            }
            do {
                return .newest(by: try Expression.parse(String(word.dropFirst(start.count))))
            } catch {
                throw cursor.error(error.message)
            }
        }
    }

    private func unique(_ cursor: JSONCursor) throws(FerryError) -> [String] {
        let names = try cursor.names()
        if names.isEmpty { throw cursor.error("name at least one attribute") }
        return names
    }

    private func iteration(
        _ cursor: JSONCursor, onInvalid: JSONCursor?
    ) throws(FerryError) -> EntityMapping.Iteration {
        let members = try cursor.members()
        guard (1...2).contains(members.count),
            members.count == 1 || members.contains(where: { $0.key == Self.positionKey })
        else {
            throw cursor.error(
                "expected exactly one name for each element, and perhaps one for its position, as in "
                    + "{ \"user\": \"$source.users\", \"position\": \"index\" }")
        }
        let member = elements(among: members)
        try check(variable: member.key, member.value)
        var position: String?
        if members.count == 2, let cursor = members.first(where: { $0.key == Self.positionKey })?.value {
            let name = try cursor.name()
            try check(variable: name, cursor)
            guard name != member.key else { throw cursor.error("the name \"\(name)\" is taken; choose another") }
            position = name
        }
        return EntityMapping.Iteration(
            variable: member.key, elements: try parsed(member.value, Expression.parse, Expression.replacing),
            skipsInvalid: try skips(onInvalid), position: position)
    }

    private static let positionKey = "position"

    /// The name and the elements of an iteration: alone, `position` is the name of the element.
    private func elements(
        among members: [(key: String, value: JSONCursor)]
    ) -> (key: String, value: JSONCursor) {
        members.first { members.count == 1 || $0.key != Self.positionKey } ?? members[0]
    }

    private func check(variable: String, _ cursor: JSONCursor) throws(FerryError) {
        guard let first = variable.unicodeScalars.first, first == "_" || first.properties.isAlphabetic,
            variable.unicodeScalars.allSatisfy({
                $0 == "_" || $0.properties.isAlphabetic || $0.properties.numericType != nil
            })
        else { throw cursor.error("\"\(variable)\" cannot be the name of a variable") }
        guard !Self.boundVariables.contains(variable) else {
            throw cursor.error("the name \"\(variable)\" is taken; choose another")
        }
    }

    private func skips(_ cursor: JSONCursor?) throws(FerryError) -> Bool {
        guard let cursor else { return false }
        switch try cursor.string() {
        case "skip": return true
        case "fail": return false
        default: throw cursor.error("expected \"skip\" or \"fail\"")
        }
    }

    // MARK: Properties

    private func attribute(
        _ cursor: JSONCursor, _ name: String, of mapping: inout EntityMapping
    ) throws(FerryError) -> AttributeRule {
        let part = "attribute \"\(name)\""
        switch cursor.node.value {
        case .null: return .empty
        case .boolean(let value): return .value(.constant(.boolean(value)))
        case .number(let text):
            if let integer = Int64(text) { return .value(.constant(.integer(integer))) }
            guard let double = Double(text), double.isFinite else { throw cursor.error("the number is out of range") }
            return .value(.constant(.double(double)))
        case .string:
            if mapping.keepIfOpen(cursor, part, property: name) { return .empty }
            mapping.keepText(of: cursor, as: part)
            return .value(try parsed(cursor, Expression.parse, Expression.replacing))
        case .object:
            let members = try cursor.members(allowing: ["value", "onInvalid"])
            if members.isEmpty { throw cursor.error(Self.expected) }
            if let onInvalid = members["onInvalid"] {
                guard let rule = EntityMapping.OnInvalid(rawValue: try onInvalid.string()) else {
                    throw onInvalid.error("expected \"null\", \"skip\" or \"fail\"")
                }
                mapping.onInvalid[name] = rule
            }
            guard let value = members["value"] else { return .automatic }
            if case .object = value.node.value { throw value.error(Self.expected) }
            return try attribute(value, name, of: &mapping)
        case .array: throw cursor.error(Self.expected)
        }
    }

    private static let expected = "expected an expression in a string, a number, true, false or null"

    private func relationship(
        _ cursor: JSONCursor, _ name: String, of mapping: inout EntityMapping
    ) throws(FerryError) -> RelationshipRule {
        if cursor.isNull { return .empty }
        let members = try cursor.members(allowing: ["mapping", "from"])
        guard let target = members["mapping"], let from = members["from"] else {
            let missing = members["mapping"] == nil ? "mapping" : "from"
            throw cursor.error(
                "the key \"\(missing)\" is missing",
                remedy: "Write { \"mapping\": \"…\", \"from\": \"$source…\" }, or null to leave it empty.")
        }
        let part = "relationship \"\(name)\""
        let areOpen = [target, from].map { mapping.keepIfOpen($0, part, property: name) }
        if areOpen.contains(true) { return .empty }
        mapping.keepText(of: from, as: part)
        if target.isNull {
            return .destinationsOfAnyMapping(from: try parsed(from, Expression.parse, Expression.replacing))
        }
        return .destinations(
            ofMapping: try target.name(), from: try parsed(from, Expression.parse, Expression.replacing))
    }

    // MARK: Expressions

    /// Parses a text, and replaces the names of tables by their contents.
    private func parsed<Parsed>(
        _ cursor: JSONCursor, _ parse: (String) throws(FerryError) -> Parsed,
        _ replacing: (Parsed) -> ((Expression) -> Expression?) -> Parsed
    ) throws(FerryError) -> Parsed {
        let text = try cursor.string()
        let parsed: Parsed
        do {
            parsed = try parse(text)
        } catch {
            var error = error
            error.message = cursor.error(error.message).message
            throw error
        }
        var unknown: String?
        func fill(_ part: Expression) -> Expression? {
            guard case .predefined(Expression.tableSelector, let operands) = part, operands.count == 2,
                case .constant(.string(let name)) = operands[0]
            else { return nil }
            guard let table = tables[name] else {
                unknown = name
                return nil
            }
            return .predefined(Expression.tableSelector, [.constant(.string(table)), operands[1].replacing(fill)])
        }
        let filled = replacing(parsed)(fill)
        if let unknown {
            throw cursor.error(
                "the expression names the table \"\(unknown)\", which is not in \"tables\""
                    + NearNames.clause(for: unknown, among: tables.keys, otherwise: ""))
        }
        return filled
    }
}

extension EntityMapping {
    /// Records a part that the file leaves open, with a text that begins with `?`; false for any other part.
    @discardableResult
    fileprivate mutating func keepIfOpen(_ cursor: JSONCursor?, _ part: String, property: String? = nil) -> Bool {
        guard let cursor, let text = cursor.openText else { return false }
        unreadable.append(
            .init(part: part, property: property, reason: "\(text) (line \(cursor.node.line)).", isOpen: true))
        return true
    }

    /// Keeps the text of an expression under the name that errors use.
    fileprivate mutating func keepText(of cursor: JSONCursor, as part: String) {
        guard case .string(let text) = cursor.node.value else { return }
        texts[part] = .init(text: text, line: cursor.node.line)
    }
}
