/// Entities of a source model, as the text of Xcode's `contents`.
enum ModelText {
    static func model(_ entities: [String]) -> String {
        """
        <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
        <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" userDefinedModelVersionIdentifier="">
        \(entities.joined(separator: "\n"))
        </model>

        """
    }

    /// - Parameters:
    ///   - name: The entity's name.
    ///   - properties: The text of the entity's properties.
    ///   - indexed: The attributes with a fetch index each.
    ///   - parent: The superentity's name.
    /// - Returns: The entity's element.
    static func entity(
        _ name: String, _ properties: [String], indexed: [String] = [], parent: String? = nil
    ) -> String {
        let indexes = indexed.map {
            """
                <fetchIndex name="by\($0)">
                    <fetchIndexElement property="\($0)" type="Binary" order="ascending"/>
                </fetchIndex>
            """
        }
        let lines = properties.map { "    \($0)" } + indexes
        let superentity = parent.map { " parentEntity=\"\($0)\"" } ?? ""
        return "<entity name=\"\(name)\"\(superentity)>\n\(lines.joined(separator: "\n"))\n</entity>"
    }

    static func attribute(
        _ name: String, _ type: String, isOptional: Bool = true, defaultValue: String? = nil,
        renamedFrom: String? = nil,
        isExternal: Bool = false
    ) -> String {
        "<attribute name=\"\(name)\" attributeType=\"\(type)\"" + (isOptional ? " optional=\"YES\"" : "")
            + (defaultValue.map { " defaultValueString=\"\($0)\"" } ?? "")
            + (renamedFrom.map { " elementID=\"\($0)\"" } ?? "")
            + (isExternal ? " allowsExternalBinaryDataStorage=\"YES\"" : "") + "/>"
    }

    static func toOne(_ name: String, _ destination: String, inverse: String) -> String {
        "<relationship name=\"\(name)\" destinationEntity=\"\(destination)\" maxCount=\"1\" inverseName=\"\(inverse)\" "
            + "inverseEntity=\"\(destination)\" optional=\"YES\"/>"
    }

    static func toMany(
        _ name: String, _ destination: String, inverse: String, isOrdered: Bool = false
    ) -> String {
        "<relationship name=\"\(name)\" destinationEntity=\"\(destination)\" toMany=\"YES\" inverseName=\"\(inverse)\" "
            + (isOrdered ? "ordered=\"YES\" " : "") + "inverseEntity=\"\(destination)\" optional=\"YES\"/>"
    }
}
