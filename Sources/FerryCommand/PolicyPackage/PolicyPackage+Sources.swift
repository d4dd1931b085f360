internal import FerryBase
internal import FerryMapping

extension PolicyPackage {
    func source(of policy: PolicyClass) -> String {
        let related = policy.parts.filter { !late($0).isEmpty }
        var hooks = ""
        if !related.isEmpty {
            let cases = cases(policy) { late($0).isEmpty ? "break" : "try relate\(function($0))(object, manager)" }
            hooks += Template.policy.part("relating", ["cases": cases])
        }
        let calls = calls(of: policy)
        if !calls.isEmpty { hooks += Template.policy.part("functions", ["functions": calls.joined(separator: "\n")]) }
        hooks += policy.parts.map(finishing).joined()
        for part in related {
            let lines = late(part).map { "        \(setting($0, in: part))" }.joined(separator: "\n")
            hooks += Template.policy.part("relate", ["function": function(part), "lines": lines])
        }
        return Template.policy.part(
            "struct",
            [
                "className": SwiftText.comment(policy.className), "typeName": policy.typeName, "hooks": hooks,
                "cases": cases(policy) { "try finish\(function($0))(object, of: source, manager)" },
            ])
    }

    private func finishing(_ part: StandIn.Part) -> String {
        let given = part.properties.filter { !$0.isOpen }.map { "//   \($0.name): \($0.type), \($0.given ?? "")" }
        let asking = part.properties.filter { $0.isOpen && !$0.asks.isEmpty }.map {
            "//   \($0.name): \($0.type), by functions above"
        }
        let early = part.properties.filter { $0.isOpen && $0.asks.isEmpty && !late(part).contains($0) }
        let lines =
            ((given + asking).isEmpty ? [] : ["// Already set:"]) + given + asking + early.map { setting($0, in: part) }
        let made = unfilled.isEmpty ? "" : ", which may have created the objects of \(unfilled.joined(separator: ", "))"
        let rest = "whatever else \(part.original.policyClassName ?? "") did for \(part.original.name)\(made)"
        return Template.policy.part(
            "finish",
            [
                "shown": SwiftText.comment(part.original.shown.joined(separator: "; ")), "function": function(part),
                "lines": lines.map { "        \(SwiftText.comment($0))" }.joined(separator: "\n"),
                "rest": SwiftText.quoted(rest),
            ]
        ).replacing("throws {\n\n", with: "throws {\n")
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

    /// A line for each selector or key, with the properties that use it.
    private func calls(of policy: PolicyClass) -> [String] {
        let asked = policy.parts.flatMap { part in
            part.properties.flatMap { property in
                let words = "\(part.original.destination ?? "").\(property.name), \(property.type)\(property.hint)"
                return property.asks.map { (selector: $0, words: words) }
            }
        }
        return asked.groups(by: \.selector).map { selector, uses in
            let what = SwiftText.quoted("\(selector) for \(uses.map(\.words).joined(separator: "; "))")
            return "            \(SwiftText.quoted(selector)): { arguments in try unwritten(\(what)) },"
        }
    }
}

enum SwiftText {
    static func quoted(_ text: String) -> String {
        let signs: [Unicode.Scalar: String] = ["\"": "\\\"", "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"]
        let literal = text.unicodeScalars.map { scalar in
            signs[scalar] ?? (isControl(scalar) ? "\\u{\(String(scalar.value, radix: 16))}" : String(scalar))
        }
        return "\"\(literal.joined())\""
    }

    /// A name for a type or a function; a character that no name may hold becomes an underscore.
    static func identifier(_ text: String) -> String {
        let name = String(text.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
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
