/// The migration policies that are registered in code: class names, and what each offers to expressions.
package struct KnownPolicies: Sendable, Hashable {
    /// Class name to the selectors and keys that `$entityPolicy` answers to.
    private let functions: [String: Set<String>]

    package init(_ functions: [String: Set<String>] = [:]) { self.functions = functions }

    /// The name under which the class of a mapping file is registered, or nil.
    ///
    /// The module before the dot is optional on either side: Xcode writes `Module.Class` for Swift, and modules are
    /// renamed.
    package func registeredName(of className: String) -> String? {
        if functions[className] != nil { return className }
        let name = Self.withoutModule(className)
        if functions[name] != nil { return name }
        let candidates = functions.keys.filter { Self.withoutModule($0) == name }
        return candidates.count == 1 ? candidates[0] : nil
    }

    /// What a registered policy offers to expressions.
    package func functions(of registeredName: String) -> Set<String> { functions[registeredName] ?? [] }

    private static func withoutModule(_ name: String) -> String {
        name.split(separator: ".").last.map(String.init) ?? name
    }
}
