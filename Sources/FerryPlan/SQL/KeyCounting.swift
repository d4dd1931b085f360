package import FerryMapping

/// The function that numbers the source objects of a statement that reads them in the order of their keys.
package enum KeyCounting {
    /// SQL of the next key for an object of a mapping; evaluate it only for rows that the mapping writes.
    ///
    /// `reader` is the mapping whose statement calls the function: itself, or one with a foreign key to its objects.
    package static func call(
        _ made: ResolvedEntityMapping, by reader: ResolvedEntityMapping, at object: SourceScope.Object
    ) -> String { "\(name(made, by: reader))(\(object.alias).Z_PK)" }

    package static func name(_ made: ResolvedEntityMapping, by reader: ResolvedEntityMapping) -> String {
        "ferry_key_\(made.position)_\(reader.position)"
    }
}
