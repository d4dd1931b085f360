internal import FerryBase
internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import FerryCommand

/// Ferry's output about the policies of real mapping models, and the packages that it writes for them.
@Suite("Stand-ins for real policies", .enabled(if: Fixtures.areExpected, "\(Fixtures.skipReason)"))
struct StandInTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var mappingModel: String
        var models: String
        /// A policy class, and the mapping model's description of its entity mapping.
        var policy: String
        var shown: String

        var testDescription: String { mappingModel }
        var path: String { Fixtures.path("\(mappingModel).xcmappingmodel") }
        var options: [String] { ["--models", Fixtures.path(models)] }
    }

    static let cases: [Case] = [
        .init(
            mappingModel: "coredataplus-samplemodel/V2toV3",
            models: "coredataplus-samplemodel/SampleModel.xcdatamodeld",
            policy: "REPLACE_AT_RUNTIME.V2to3MakerPolicy",
            shown: "SportCar to SportCar; previousOwners = what PersonToPerson created from $source.owner"),
        .init(
            mappingModel: "loopkit-model/Modelv1v4", models: "loopkit-model/Model.xcdatamodeld",
            policy: "LoopKit.DeletedCarbObjectv3EntityMigrationPolicy", shown: "DeletedCarbObject to CachedCarbObject"),
        .init(
            mappingModel: "objcio-bookmigration/Model1_to_Model2", models: "objcio-bookmigration/Model.xcdatamodeld",
            policy: "MHWBookToBookPolicy", shown: "Book to Book; user info modelVersion = 2"),
        .init(
            mappingModel: "objcio-bookmigration/Model2_to_Model3", models: "objcio-bookmigration/Model.xcdatamodeld",
            policy: "MHWBookToBookPolicy", shown: "Book to Book; user info modelVersion = 3"),
        .init(
            mappingModel: "objcio-moody/Moody 5-Moody 6", models: "objcio-moody/Moody.xcdatamodeld",
            policy: "Migrations.Country5ToCountry6Policy", shown: "Country to Country"),
        .init(
            mappingModel: "practical-core-data/Chapter9v3Tov4", models: "practical-core-data/Chapter9.xcdatamodeld",
            policy: "StorageProvider.V3AlbumToAlbumPolicy", shown: "Album to Album"),
        .init(
            mappingModel: "practical-core-data/Chapter9v4Tov5", models: "practical-core-data/Chapter9.xcdatamodeld",
            policy: "StorageProvider.V4AlbumToAlbumPolicy", shown: "Album to Album"),
        .init(
            mappingModel: "wibosco-posts/Migration2to3", models: "wibosco-posts/CoreDataMigration_Example.xcdatamodeld",
            policy: "CoreDataMigration_Example.Post2ToPost3MigrationPolicy", shown: "Post to Post"),
        .init(
            mappingModel: "xcservercoredata/MappingModel1.2.0to2.0.1",
            models: "xcservercoredata/XCServerCoreData.xcdatamodeld",
            policy: "XCServerCoreData.IntegrationStringToDateMigrationPolicy", shown: "Integration to Integration"),
        .init(
            mappingModel: "models-only/billmoss-hybrid/Model4ToModel5-2",
            models: "models-only/billmoss-hybrid/Model.xcdatamodeld", policy: "CDMTopicToTopicMigrationPolicy",
            shown: "Topic to Topic; where topicList.title MATCHES \"[i-pI-P].*\""),
        .init(
            mappingModel: "models-only/corestore-evolution/V2.FromV1",
            models: "models-only/corestore-evolution/V1.xcdatamodeld",
            policy: "Advanced_EvolutionDemo_V2_FromV1MigrationPolicy",
            shown: "Creature to Creature; hasHead = TRUE; numberOfFlippers = $source.numberOfFlagella"),
        .init(
            mappingModel: "models-only/jdspoone-example/v1.1-to-v1.2",
            models: "models-only/jdspoone-example/CoreDataMigration.xcdatamodeld",
            policy: "CoreDataMigration.NoteToNotePolicy", shown: "Note to Note; user info sourceVersion = v1.1"),
        .init(
            mappingModel: "models-only/jdspoone-example/v1.2-to-v1.3",
            models: "models-only/jdspoone-example/CoreDataMigration.xcdatamodeld",
            policy: "CoreDataMigration.ImageToImagePolicy", shown: "Image to Image; user info sourceVersion = v1.2"),
        .init(
            mappingModel: "models-only/kodeco-uncloudnotes/UnCloudNotesMappingModel_v3_to_v4",
            models: "models-only/kodeco-uncloudnotes/UnCloudNotesDataModel.xcdatamodeld",
            policy: "UnCloudNotes.AttachmentToImageAttachmentMigrationPolicyV3toV4",
            shown: "Attachment to ImageAttachment"),
        .init(
            mappingModel: "models-only/nova-wallet/SingleToMultiasset",
            models: "models-only/nova-wallet/UserDataModel.xcdatamodeld",
            policy: "novawallet.SingleToMultiassetMigrationPolicy",
            shown: "CDAccountItem to CDMetaAccount; name = $source.username"),
        .init(
            mappingModel: "models-only/openemu/1.0 Beta to 0.2", models: "models-only/openemu/OEDatabase.xcdatamodeld",
            policy: "OEDBSaveStateMigrationPolicy", shown: "SaveState to SaveState"),
        .init(
            mappingModel: "models-only/openemu/1.0 Beta 4 to 1.0",
            models: "models-only/openemu/OEDatabase.xcdatamodeld",
            policy: "OEDBRomMigrationPolicy", shown: "ROM to ROM"),
        .init(
            mappingModel: "models-only/openemu/1.1 to 1.2", models: "models-only/openemu/OEDatabase.xcdatamodeld",
            policy: "OEDBImageMigrationPolicy", shown: "Image to Image; source = $source.sourceURL"),
        .init(
            mappingModel: "models-only/openemu/1.2 to 1.3", models: "models-only/openemu/OEDatabase.xcdatamodeld",
            policy: "OEDBRomMigrationPolicy", shown: "ROM to ROM"),
        .init(
            mappingModel: "models-only/sworm/V0V1", models: "models-only/sworm/MigratableDataModel.xcdatamodeld",
            policy: "V0V1MigrationPolicy",
            shown: "A to B; identifier = FUNCTION($entityPolicy, \"changeID:\", $source.id); text = $source.name"),
        .init(
            mappingModel: "models-only/sworm/V1V2", models: "models-only/sworm/MigratableDataModel.xcdatamodeld",
            policy: "V1V2MigrationPolicy",
            shown: "B to B; identifier = FUNCTION($entityPolicy, \"multiplyByTen:\", $source.identifier)"),
    ]

    private struct Checked: Decodable {
        struct Problem: Decodable { var code, message, remedy: String }
        var problems: [Problem]
    }

    private struct Begun: Decodable {
        struct Open: Decodable { var entityMapping, property, reason: String }
        var open: [Open]
    }

    private struct Package: Decodable {
        var files, policies: [String]
        var open: Int
    }

    @Test(
        "A refusal names the policy, the mapping model's description of it, and a command to begin with",
        arguments: cases)
    func refuses(_ fixture: Case) throws {
        let refused = Captured.run(["mapping", "check", fixture.path] + fixture.options, isJSON: true)
        #expect(refused.exitCode == .refused)
        let problems = try JSONDecoder().decode(Checked.self, from: Data(refused.output.utf8)).problems
            .filter { $0.code == "missingPolicy" }
        let own = problems.filter { $0.message.contains("policy \(fixture.policy) exists only") }
        #expect(own.contains { $0.message.contains(fixture.shown) }, "\(own)")
        let path = try FileLayer().realPath(fixture.path)
        let command = "ferry mapping init --extends \(ShellWord.quoted(path)) --models "
        #expect(problems.allSatisfy { $0.remedy.contains(command) }, "\(problems)")
    }

    @Test(
        "A stand-in's check lists its unwritten parts, and nothing runs before all of them are written",
        arguments: cases)
    func begins(_ fixture: Case) throws {
        let folder = try TemporaryFolder()
        let file = folder.file("stand-in.json")
        let words = ["mapping", "init", "--extends", fixture.path, "--output", file] + fixture.options
        let begun = Captured.run(words, isJSON: true)
        #expect(begun.exitCode == .success, "\(begun.output)")
        let open = try JSONDecoder().decode(Begun.self, from: Data(begun.output.utf8)).open
        let told = fixture.shown.components(separatedBy: "; ").filter { $0.hasPrefix("user info ") }
        let policies = open.filter { $0.property == "policy" && $0.reason.contains(fixture.policy) }
        #expect(policies.contains { place in told.allSatisfy { place.reason.contains($0) } }, "\(open)")
        let checked = Captured.run(["mapping", "check", file] + fixture.options, isJSON: true)
        let problems = try JSONDecoder().decode(Checked.self, from: Data(checked.output.utf8)).problems
            .map(\.message).filter { $0.contains("is not filled in: ?") }
        #expect(checked.exitCode == .refused && problems.count == open.count, "\(problems)")
        for place in open {
            let named = problems.filter { $0.contains("entity mapping \"\(place.entityMapping)\"") }
            #expect(named.contains { $0.contains(place.reason) }, "\(place)")
        }
        #expect(problems.allSatisfy { $0.contains("(line ") })
    }

    @Test("A package has a struct for each class, and lists every property with its type", arguments: cases)
    func packs(_ fixture: Case) throws {
        let folder = try TemporaryFolder()
        let words = ["mapping", "init", "--extends", fixture.path] + fixture.options
        let written = Captured.run(
            words + ["--swift", Fixtures.packageRoot, "--output", folder.file("package")], isJSON: true)
        #expect(written.exitCode == .success, "\(written.output)")
        let package = try JSONDecoder().decode(Package.self, from: Data(written.output.utf8))
        #expect(package.policies.contains(fixture.policy) && package.open >= package.policies.count)
        let sources = try package.files.filter { $0.hasPrefix("Sources/Policies/") }.map {
            try String(contentsOfFile: folder.file("package/\($0)"), encoding: .utf8)
        }.joined()
        #expect(sources.contains("\"\(fixture.policy)\": {"))
        let begun = Captured.run(["mapping", "init", "--extends", fixture.path] + fixture.options)
        let mapping = try #require(
            try JSONSerialization.jsonObject(with: Data(begun.output.utf8)) as? [String: Any])
        for part in try #require(mapping["entityMappings"] as? [[String: Any]]) where part["policy"] != nil {
            let note = try #require(part["note"] as? [String])
            #expect(!note.isEmpty)
            for line in note {
                let words = line.components(separatedBy: ": ")
                let isGiven = sources.contains("//   \(line),")
                #expect(isGiven || sources.contains("forKey: \"\(words[0])\")"), "\(line)")
            }
        }
    }

    @Test("A package depends on a folder or on a repository, and --swift alone is not enough")
    func depends() throws {
        let fixture = Self.cases[2]
        let folder = try TemporaryFolder()
        let words = ["mapping", "init", "--extends", fixture.path] + fixture.options
        #expect(Captured.run(words + ["--swift", "C"]).exitCode == .usage)
        #expect(Captured.run(["mapping", "init", "A", "B", "--swift", "C"]).exitCode == .usage)
        let nowhere = Captured.run(words + ["--swift", folder.file("none"), "--output", folder.file("a")])
        #expect(nowhere.exitCode == .refused && !FileManager.default.fileExists(atPath: folder.file("a")))
        let repository = Captured.run(
            words + ["--swift", "https://example.org/team/ferry.git", "--output", folder.file("b")])
        #expect(repository.exitCode == .success)
        let manifest = try String(contentsOfFile: folder.file("b/Package.swift"), encoding: .utf8)
        #expect(manifest.contains(".package(url: \"https://example.org/team/ferry.git\", from: "))
        #expect(manifest.contains("package: \"ferry\""))
        let again = Captured.run(
            words + ["--swift", "https://example.org/team/ferry.git", "--output", folder.file("b")])
        #expect(again.exitCode == .refused && again.diagnostics.contains("already exists"))
    }
}
