/// The migration policies that are registered in code: class names, and the functions of each for expressions.
package struct KnownPolicies: Sendable, Hashable {
    /// Class name to the selectors and keys of `$entityPolicy`.
    private let functions: [String: Set<String>]

    package init(_ functions: [String: Set<String>] = [:]) { self.functions = functions }

    /// The name under which the class of a mapping file is registered, or nil.
    ///
    /// The module before the dot is optional: Xcode writes `Module.Class` for Swift, and modules are renamed.
    package func registeredName(of className: String) -> String? {
        if functions[className] != nil { return className }
        let name = Self.withoutModule(className)
        if functions[name] != nil { return name }
        let candidates = functions.keys.filter { Self.withoutModule($0) == name }
        return candidates.count == 1 ? candidates[0] : nil
    }

    /// The selectors and keys of a registered policy for expressions.
    package func functions(of registeredName: String) -> Set<String> { functions[registeredName] ?? [] }

    private static func withoutModule(_ name: String) -> String {
        name.split(separator: ".").last.map(String.init) ?? name
    }
}

/// A run's record of its migration policies, so that verification leaves out values that it cannot compute again.
///
/// It has names of properties and mappings, never values.
package struct PolicyEvidence: Codable, Sendable, Hashable {
    /// Properties whose values a policy set, as `Entity.property`; `Entity.*` for whole objects that it made.
    package var touched: Set<String> = []
    /// New keys that the policy of a mapping (by position) gave in the first pass, by root entity.
    package var newKeys: [Int: [String: Int64]] = [:]
    /// Positions of mappings whose policies only associated objects of equal keys and set no relationships.
    package var implied: Set<Int> = []

    package init() {}

    package func isTouched(_ property: String, of entity: String) -> Bool {
        touched.contains("\(entity).\(property)") || touched.contains("\(entity).*")
    }
}
