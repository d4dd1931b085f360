internal import FerryBase
internal import FerryMapping

extension PolicyPackage {
    /// The struct for a policy class, with the hooks that the mapping model implies.
    func source(of policy: PolicyClass) -> String {
        var hooks = [creating(policy)]
        if policy.parts.contains(where: { !late($0).isEmpty }) { hooks.append(relating(policy)) }
        let calls = calls(of: policy)
        if !calls.isEmpty { hooks.append(functions(calls)) }
        hooks += policy.parts.map(finishing)
        hooks += policy.parts.filter { !late($0).isEmpty }.map(relatingOne)
        return """
            import Ferry

            /// Stands in for the migration policy \(SwiftText.comment(policy.className)).
            struct \(policy.typeName): EntityMigrationPolicy {
            \(hooks.joined(separator: "\n\n"))
            }

            """
    }

    private func creating(_ policy: PolicyClass) -> String {
        """
            func createDestinationInstances(
                forSource source: SourceObject, in mapping: PolicyEntityMapping, manager: MigrationManager
            ) throws {
                // Makes the object with what the mapping model says, and associates it.
                try defaultPolicy.createDestinationInstances(forSource: source, in: mapping, manager: manager)
                let object = try manager.destinationInstances(
                    forEntityMappingName: mapping.name, sourceInstances: [source])[0]
                switch mapping.name {
        \(cases(policy) { "try finish\(function($0))(object, of: source, manager)" })
                default: throw unexpected(mapping)
                }
            }
        """
    }

    private func relating(_ policy: PolicyClass) -> String {
        """
            // Called when all objects of all entity mappings are made.
            func createRelationships(
                forDestination object: DestinationObject, in mapping: PolicyEntityMapping, manager: MigrationManager
            ) throws {
                try defaultPolicy.createRelationships(forDestination: object, in: mapping, manager: manager)
                switch mapping.name {
        \(cases(policy) { late($0).isEmpty ? "break" : "try relate\(function($0))(object, manager)" })
                default: throw unexpected(mapping)
                }
            }
        """
    }

    private func relatingOne(_ part: StandIn.Part) -> String {
        """
            /// What is made of an object: manager.destinationInstances(forEntityMappingName:sourceInstances:); what it was made
            /// of: manager.sourceInstances(forEntityMappingName:destinationInstances:).
            private func relate\(function(part))(_ object: DestinationObject, _ manager: MigrationManager) throws {
        \(late(part).map { "        \(setting($0, in: part))" }.joined(separator: "\n"))
            }
        """
    }

    private func functions(_ calls: [(selector: String, of: String)]) -> String {
        let lines = calls.map { call in
            "            \(SwiftText.quoted(call.selector)): { arguments in try unwritten(\(SwiftText.quoted(call.of))) },"
        }
        return """
                // What expressions of the mapping model call.
                var functions: [String: PolicyFunction] {
                    [
            \(lines.joined(separator: "\n"))
                    ]
                }
            """
    }

    private func finishing(_ part: StandIn.Part) -> String {
        let given = part.properties.filter { !$0.isOpen }.map {
            "        //   \($0.name): \($0.type), \($0.given ?? "")"
        }
        let asking = part.properties.filter { $0.isOpen && !$0.asks.isEmpty }.map {
            "        //   \($0.name): \($0.type), by functions above"
        }
        let early = part.properties.filter { property in
            property.isOpen && property.asks.isEmpty && !late(part).contains(property)
        }
        var lines: [String] = []
        if !(given + asking).isEmpty { lines += ["        // Already set:"] + given + asking }
        lines += early.map { "        \(setting($0, in: part))" }
        lines += [
            "        // A policy can do more than its mapping model shows. When this function does all that the class did,",
            "        // remove this line.",
            "        try unwritten(\(SwiftText.quoted(rest(of: part)))) as Void",
        ]
        return """
                /// \(SwiftText.comment(part.original.shown.joined(separator: "; "))).
                private func finish\(function(part))(
                    _ object: DestinationObject, of source: SourceObject, _ manager: MigrationManager
                ) throws {
            \(lines.map(SwiftText.comment).joined(separator: "\n"))
                }
            """
    }

    private func rest(of part: StandIn.Part) -> String {
        let made = unfilled.isEmpty ? "" : ", which may have created the objects of \(unfilled.joined(separator: ", "))"
        return "whatever else \(part.original.policyClassName ?? "") did for \(part.original.name)\(made)"
    }

    /// A line that sets an open property.
    private func setting(_ property: StandIn.Property, in part: StandIn.Part) -> String {
        let method = property.destinationEntity == nil ? "setValue" : property.isToMany ? "setObjects" : "setObject"
        let what = "\(part.original.destination ?? "").\(property.name), \(property.openText.dropFirst(2))"
            .replacing(", or null", with: ", or \(method == "setObjects" ? "[]" : "nil")")
        return "try object.\(method)(unwritten(\(SwiftText.quoted(what))), forKey: \(SwiftText.quoted(property.name)))"
    }

    /// The open relationships whose destination objects other entity mappings make, all before the second pass.
    private func late(_ part: StandIn.Part) -> [StandIn.Property] {
        part.properties.filter { property in
            guard property.isOpen, let entity = property.destinationEntity else { return false }
            return !unfilled.contains(entity)
        }
    }

    private func cases(_ policy: PolicyClass, _ body: (StandIn.Part) -> String) -> String {
        policy.parts.map { "        case \(SwiftText.quoted($0.original.name)): \(body($0))" }.joined(separator: "\n")
    }

    /// The suffix of a function's name for an entity mapping, unique in the mapping model.
    private func function(_ part: StandIn.Part) -> String {
        let name = SwiftText.identifier(part.original.name)
        let names = mapping.entityMappings.map(\.name)
        let isUnique = names.count { SwiftText.identifier($0) == name } == 1
        return isUnique ? name : "\(name)_\(names.firstIndex(of: part.original.name) ?? 0)"
    }

    /// Each selector or key once, with the properties that use it.
    private func calls(of policy: PolicyClass) -> [(selector: String, of: String)] {
        let asked = policy.parts.flatMap { part in
            part.properties.flatMap { property in
                let words = "\(part.original.destination ?? "").\(property.name), \(property.type)\(property.hint)"
                return property.asks.map { (selector: $0, words: words) }
            }
        }
        return asked.groups(by: \.selector).map { selector, uses in
            (selector, "\(selector) for \(uses.map(\.words).joined(separator: "; "))")
        }
    }
}

/// Text in Swift syntax.
enum SwiftText {
    /// A string literal.
    static func quoted(_ text: String) -> String {
        var literal = ""
        for character in text.unicodeScalars {
            switch character {
            case "\"": literal += "\\\""
            case "\\": literal += "\\\\"
            case "\n": literal += "\\n"
            case "\r": literal += "\\r"
            case "\t": literal += "\\t"
            case _ where isControl(character):
                literal += "\\u{\(String(character.value, radix: 16))}"
            default: literal.unicodeScalars.append(character)
            }
        }
        return "\"\(literal)\""
    }

    /// A name for a type or a function; a character that no name may hold becomes an underscore.
    static func identifier(_ text: String) -> String {
        let name = String(
            text.map { character in
                character.isASCII && (character.isLetter || character.isNumber) || character == "_" ? character : "_"
            })
        return name.first?.isNumber ?? true ? "_" + name : name
    }

    /// A text for a comment of one line.
    static func comment(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.map { isControl($0) ? " " : $0 }))
    }

    private static func isControl(_ character: Unicode.Scalar) -> Bool {
        character.value < 0x20 || [0x7F, 0x85, 0x2028, 0x2029].contains(character.value)
    }
}
