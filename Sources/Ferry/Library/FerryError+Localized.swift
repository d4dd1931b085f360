public import FerryBase

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

// What Foundation, and the alerts of AppKit and UIKit, ask an error for. The texts are English.
extension FerryBase.FerryError: LocalizedError {
    public var errorDescription: String? { message }

    public var recoverySuggestion: String? { remedy.isEmpty ? nil : remedy.description }

    /// The message of the layer below, where it is one of Ferry's own; others may hold values of rows.
    public var failureReason: String? { (cause as? FerryBase.FerryError)?.message }
}
