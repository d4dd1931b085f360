extension Expression {
    /// The keys after `$source`, joined by dots, when the expression is nothing else: the name of an attribute, of an
    /// element of a composite (`composite.element`), or a path through relationships.
    package var sourceKeys: String? {
        guard case .keyPath(.variable("source"), let steps) = self else { return nil }
        var keys: [String] = []
        for step in steps {
            guard case .key(let key) = step else { return nil }
            keys.append(key)
        }
        return keys.joined(separator: ".")
    }

    /// The only key after `$source`, when the expression is nothing else: a property of the source object's own.
    package var sourceKey: String? {
        guard case .keyPath(.variable("source"), let steps) = self, steps.count == 1, case .key(let key) = steps[0]
        else { return nil }
        return key
    }

    /// `$source` and the keys of a dotted name.
    package init(sourceKeys: String) {
        self = .keyPath(.variable("source"), sourceKeys.split(separator: ".").map { .key(String($0)) })
    }
}
