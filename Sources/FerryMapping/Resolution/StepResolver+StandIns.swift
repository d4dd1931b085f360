internal import FerryBase
internal import FerryModel

/// What must be written before an entity mapping can run: what a policy's code does, and what a file leaves open.
extension StepResolver {
    mutating func reportPolicy(_ policy: String, _ mapping: EntityMapping, model: Int) {
        report(
            .missingPolicy,
            "its migration policy \(policy) exists only in the app's code. What the mapping model shows of it: "
                + mapping.shown.joined(separator: "; ") + ".",
            mapping, model: model,
            remedy: """
                \(standIn(for: mapping, model: model)) Or register a migration policy in Swift under the class name \
                \(policy).
                """)
    }

    /// The way out that needs no code.
    func standIn(for mapping: EntityMapping, model: Int) -> String {
        "Write a JSON mapping file with \"extends\": \"\(fileName(of: mappingModels[model].path))\" and an entity mapping "
            + "named \"\(mapping.name)\", which takes its place."
    }

    /// Every place that a file leaves to be written, with the type of what belongs there.
    mutating func reportOpenParts(of mapping: EntityMapping, model: Int) {
        for part in mapping.unreadable where part.isOpen {
            let type = part.property.flatMap { property in
                mapping.destination.flatMap { destination.model.typeText(of: property, in: $0) }
            }
            report(
                .badMapping, "\(part.part)\(type.map { ", \($0)," } ?? "") is open: \(part.reason)", mapping,
                model: model, property: part.property,
                remedy: part.property == nil
                    ? "Write what belongs there, or remove the line." : "Write an expression in its place, or null.")
        }
    }

    /// The files in which the models of the step are found again; none where one is not in a model file.
    var modelFiles: [String] {
        let paths = [source, destination].flatMap { $0.parts.isEmpty ? [$0.path] : $0.parts }.map { path in
            let parent = FileLayer.parent(of: path)
            return ["xcdatamodeld", "momd"].contains(MappingFile.fileExtension(of: parent)) ? parent : path
        }
        let known = ["xcdatamodeld", "momd", "xcdatamodel", "mom", "omo"]
        guard paths.allSatisfy({ known.contains(MappingFile.fileExtension(of: $0)) }) else { return [] }
        return paths.reduce(into: []) { files, path in if !files.contains(path) { files.append(path) } }
    }
}
