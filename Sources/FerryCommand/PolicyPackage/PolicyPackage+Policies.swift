internal import FerryMapping

extension PolicyPackage {
    /// A struct with the hooks that the mapping model suggests.
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

    // MARK: Hooks

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
        let parts = policy.parts.map { part in
            let name = SwiftText.quoted(part.original.name)
            return late(part).isEmpty
                ? "        case \(name): break" : "        case \(name): try relate\(function(part))(object, manager)"
        }
        return """
                // Called when all objects of all entity mappings are made.
                func createRelationships(
                    forDestination object: DestinationObject, in mapping: PolicyEntityMapping, manager: MigrationManager
                ) throws {
                    try defaultPolicy.createRelationships(forDestination: object, in: mapping, manager: manager)
                    switch mapping.name {
            \(parts.joined(separator: "\n"))
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
        if !(given + asking).isEmpty { lines += ["        // Set already:"] + given + asking }
        lines += early.map { "        \(setting($0, in: part))" }
        lines += [
            "        // A policy can do more than its mapping model shows. When this function does all that the class did:",
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

    // MARK: Parts of hooks

    private func rest(of part: StandIn.Part) -> String {
        let made = unfilled.isEmpty ? "" : ", which may have made the objects of \(unfilled.joined(separator: ", "))"
        return "whatever else \(part.original.policyClassName ?? "") did for \(part.original.name)\(made)"
    }

    /// A line that sets an open property.
    private func setting(_ property: StandIn.Property, in part: StandIn.Part) -> String {
        let method = property.destinationEntity == nil ? "setValue" : property.isToMany ? "setObjects" : "setObject"
        let what = "\(part.original.destination ?? "").\(property.name), \(property.openText.dropFirst(2))"
            .replacing(", or null", with: ", or \(method == "setObjects" ? "[]" : "nil")")
        return "try object.\(method)(unwritten(\(SwiftText.quoted(what))), forKey: \(SwiftText.quoted(property.name)))"
    }

    /// Open relationships whose objects other entity mappings make: they are all there in the second pass only.
    private func late(_ part: StandIn.Part) -> [StandIn.Property] {
        part.properties.filter { property in
            guard property.isOpen, let entity = property.destinationEntity else { return false }
            return !unfilled.contains(entity)
        }
    }

    private func cases(_ policy: PolicyClass, _ body: (StandIn.Part) -> String) -> String {
        policy.parts.map { "        case \(SwiftText.quoted($0.original.name)): \(body($0))" }.joined(separator: "\n")
    }

    /// The part of a function's name that an entity mapping gives; unlike for each mapping of the model.
    private func function(_ part: StandIn.Part) -> String {
        let name = SwiftText.identifier(part.original.name)
        let names = mapping.entityMappings.map(\.name)
        let isUnique = names.count { SwiftText.identifier($0) == name } == 1
        return isUnique ? name : "\(name)_\(names.firstIndex(of: part.original.name) ?? 0)"
    }

    /// Every selector and key once, with the properties that ask for it.
    private func calls(of policy: PolicyClass) -> [(selector: String, of: String)] {
        var properties: [String: [String]] = [:]
        var order: [String] = []
        for part in policy.parts {
            for property in part.properties {
                for selector in property.asks {
                    if properties[selector] == nil { order.append(selector) }
                    properties[selector, default: []].append(
                        "\(part.original.destination ?? "").\(property.name), \(property.type)\(property.hint)")
                }
            }
        }
        return order.map { ($0, "\($0) for \(properties[$0, default: []].joined(separator: "; "))") }
    }
}
