internal import Foundation

/// A loss in the JSON of a plan.
struct PlannedLoss: Decodable {
    var entity, version, because: String
    var property: String?
    var values, rows: Int64?
    var atMost: Bool?

    /// As `--lose` takes it.
    var name: String { entity + (property.map { "." + $0 } ?? "") }

    static func all(in json: String) throws -> [PlannedLoss] {
        struct Plan: Decodable { var losses: [PlannedLoss] }
        return try JSONDecoder().decode(Plan.self, from: Data(json.utf8)).losses
    }
}
