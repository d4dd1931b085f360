internal import FerryBase
internal import FerryGenerate
internal import FerryModel
internal import Foundation

/// The folder in which a shape makes its models, mapping files and store.
struct ShapeFolder {
    let path: String
    /// The size of the store; 1 is the size of the table in the documentation.
    let scale: Double
    private let files = FileLayer()

    init(path: String, scale: Double) {
        self.path = path
        self.scale = scale
    }

    var store: String { Subject.store(path) }

    /// The collection of real models: `FERRY_FIXTURES`, or a folder beside the package.
    static let fixtures = ProcessInfo.processInfo.environment["FERRY_FIXTURES"] ?? "../shared/fixtures"

    static func fixture(_ name: String) -> String { "\(fixtures)/\(name)" }

    func rows(_ count: Int) -> Int64 { max(2, Int64(Double(count) * scale)) }

    // MARK: Files

    /// Writes a model version from the text of its `contents`.
    func model(_ name: String, _ text: String) throws -> String {
        let model = "\(path)/\(name).xcdatamodel"
        try files.createDirectory(model)
        try files.replace("\(model)/contents", with: Array(text.utf8))
        return model
    }

    /// Writes a compiled model version.
    func model(_ name: String, _ model: ManagedObjectModel) throws -> String {
        let path = "\(path)/\(name).mom"
        try files.replace(path, with: try ArchivedModel.encode(model))
        return path
    }

    func mapping(_ name: String, _ text: String) throws -> String {
        let path = "\(path)/\(name).json"
        try files.replace(path, with: Array(text.utf8))
        return path
    }

    // MARK: The store

    /// Generates the store.
    ///
    /// - Parameters:
    ///   - models: The models' paths.
    ///   - name: The version of the store.
    ///   - options: Rows and values.
    ///   - words: The words after `ferry migrate STORE`.
    ///   - form: The form of the file.
    /// - Returns: What the shape made.
    /// - Throws: ``FerryError`` when the models cannot be read or the files not be written.
    func generate(
        _ models: [String], version name: String, _ options: GenerationOptions, words: [String],
        form: StorageForm? = nil
    ) throws -> Shape.Input {
        let version = try ModelCatalog(paths: models).version(named: name)
        let generator = try StoreGenerator(version, options: options)
        try generator.generate(at: store, files: files)
        try form?.apply(to: store, files: files)
        // Pending writes would slow down the migration.
        try files.syncFile(store)
        return Shape.Input(objects: generator.rows.values.reduce(0, +), words: words)
    }

    /// Writes two versions of our own and the mapping between them, and generates the store.
    ///
    /// - Parameters:
    ///   - subject: The models and the mapping; without a mapping, the step is inferred.
    ///   - options: Rows and values.
    ///   - form: The form of the file.
    /// - Returns: What the shape made.
    /// - Throws: ``FerryError`` when the models cannot be read or the files not be written.
    func pair(_ subject: Subject, _ options: GenerationOptions, form: StorageForm? = nil) throws -> Shape.Input {
        let models = [try model("Version1", subject.old), try model("Version2", subject.new)]
        var words = models.flatMap { ["--models", $0] } + ["--to", "Version2"]
        if let text = subject.mapping {
            words += ["--mappings", try mapping("mapping", text)]
            // A mapping model that keeps every row would run in place; a policy is a copy anyway, and no SQL.
            if !text.contains("\"policy\"") { words += ["FERRY_EXECUTOR=set"] }
        }
        return try generate(models, version: "Version1", options, words: words, form: form)
    }
}
