import FerryBase
import FerryExpression
import FerryMapping
import Foundation
import Testing

@Suite("Compiled mapping models")
struct CompiledMappingFileTests {
    /// A keyed archive in the compiler's form: two mappings and an added entity, the second mapping with a policy, a
    /// predicate and an expression of an unknown class.
    private let archive = """
        YnBsaXN0MDDUAAEAAgADAAQABQAGATcBOlkkYXJjaGl2ZXJYJG9iamVjdHNUJHRvcFgkdmVyc2lvbl8QD05TS2V5ZWRBcmNoaXZlcq8QewAHAAgA
        CAAJAAoACwAMABIACAAZABwAIQAiACQAJQAoAC4AMQA6ADsAPQA+AD8AQgBHAEoATQBSAFUAOgBeAD0AYABhAGMAZgBgAGoAbQB2AHcACwB5AHsA
        fAA6AH4APQCAAIEAgwCGAIoAiwCPAIAAkwCWAJcAmQCaAJ4AogClALkAuQC6ALsACwC8ALkAvgDAAMEAJADDAMcAOgDLAD0APgDNAM8A0gDWANkA
        3ADfAOAACwDjAOUA5gA6AOgAPQDlAOoA7ADvAPMA9AD4AOUA/AD/AQABAQECAQUAewEMAQ8BEgEeAR8BHgEgASIBJAEqAS8BMlUkbnVsbFNDYXJP
        ECABAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAU8QIAICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICV21hbmFnZXLSAA0ADgAP
        ABBYJGNsYXNzZXNaJGNsYXNzbmFtZaIAEAARXxAUTlNWYXJpYWJsZUV4cHJlc3Npb25YTlNPYmplY3TTABMAFAAVABYAFwAYViRjbGFzc18QEE5T
        RXhwcmVzc2lvblR5cGVaTlNWYXJpYWJsZYAGEAKABdIADQAOABoAG6IAGwARXxAZTlNDb25zdGFudFZhbHVlRXhwcmVzc2lvbtMAEwAdABQAHgAf
        ACBfEA9OU0NvbnN0YW50VmFsdWWACYAIEABdVFJVRVBSRURJQ0FURdMAEwAdABQAHgAjACCAC18QMWZldGNoUmVxdWVzdEZvclNvdXJjZUVudGl0
        eU5hbWVkOnByZWRpY2F0ZVN0cmluZzrSAA0ADgAmACeiACcAEVdOU0FycmF50gATACkAKgArWk5TLm9iamVjdHOADqIALAAtgAqADNIADQAOAC8A
        MKIAMAARXxAUTlNGdW5jdGlvbkV4cHJlc3Npb27VABMAMgAUADMANAA1ADYANwA4ADlbTlNBcmd1bWVudHNZTlNPcGVyYW5kXk5TU2VsZWN0b3JO
        YW1lgBCADxAEgAeADVZzb3VyY2XTABMAFAAVABYAFwA8gBJfEBB2YWx1ZUZvcktleVBhdGg6UXjSAA0ADgBAAEGiAEEAEV8QHE5TS2V5UGF0aFNw
        ZWNpZmllckV4cHJlc3Npb27TABMAFABDAEQARQBGWU5TS2V5UGF0aIAWEAqAFdIAEwApACoASKEASYAX0gANAA4ASwBMogBMABFfEBNOU0tleVBh
        dGhFeHByZXNzaW9u1QATADIAFAAzADQATgBPADcAUABRgBmAGIATgBTSAA0ADgBTAFSiAFQAEV8QGE5TRmV0Y2hSZXF1ZXN0RXhwcmVzc2lvbtUA
        EwBWABQAVwBYAFkAWgBbAFwAXV8QD05TQ291bnRPbmx5RmxhZ15OU0ZSRXhwcmVzc2lvbl8QD05TTU9DRXhwcmVzc2lvboAbCBAygBGAGtMAEwAU
        ABUAFgAXAF+AHVZudW1iZXLTABMAFABDAEQARQBigCDSABMAKQAqAGShAGWAIdUAEwAyABQAMwA0AE4AZwA3AGgAaYAigB6AH9IADQAOAGsAbKIA
        bAARXxARTlNQcm9wZXJ0eU1hcHBpbmfVABMAbgBvAHAAcQByAHMAdAB0AHVfEBlOU0Rlc3RpbmF0aW9uUHJvcGVydHlOYW1lXxAUTlNQcm9wZXJ0
        eVRyYW5zZm9ybXNaTlNVc2VySW5mb18QEU5TVmFsdWVFeHByZXNzaW9ugCWAJIAAgCNVY29sb3LVABMAbgBvAHAAcQByAHgAdAB0AHSAJ9MAEwAU
        ABUAFgAXAHqAKV5QZXJzb25Ub1BlcnNvbtMAEwAdABQAHgB9ACCAK9MAEwAUABUAFgAXAH+ALVVvd25lctMAEwAUAEMARABFAIKAMNIAEwApACoA
        hKEAhYAx1QATADIAFAAzADQATgCHADcAiACJgDKALoAvXxA6ZGVzdGluYXRpb25JbnN0YW5jZXNGb3JFbnRpdHlNYXBwaW5nTmFtZWQ6c291cmNl
        SW5zdGFuY2VzOtIAEwApACoAjKIAjQCOgCyAM9UAEwAyABQAMwA0ADUAkAA3AJEAkoA1gCqANNUAEwBuAG8AcABxAHIAlAB0AHQAlYA3gDZVbWFr
        ZXLVABMAbgBvAHAAcQByAJgAdAB0AHSAOVhDYXJUb0NhctIAEwApACoAm6IAnACdgCaAKNIAEwApACoAn6IAoAChgDiAOtIADQAOAKMApKIApAAR
        XxAPTlNFbnRpdHlNYXBwaW5n3AATAKYApwCoAKkAqgCrAKwArQCuAK8AcACwALEAsgCzAHQAtAA3ALUAtgC3ALgAdF8QE05TQXR0cmlidXRlTWFw
        cGluZ3NfEBdOU0Rlc3RpbmF0aW9uRW50aXR5TmFtZV8QHk5TRGVzdGluYXRpb25FbnRpdHlWZXJzaW9uSGFzaF8QIE5TRW50aXR5TWlncmF0aW9u
        UG9saWN5Q2xhc3NOYW1lXU5TTWFwcGluZ05hbWVdTlNNYXBwaW5nVHlwZV8QFk5TUmVsYXRpb25zaGlwTWFwcGluZ3NfEBJOU1NvdXJjZUVudGl0
        eU5hbWVfEBlOU1NvdXJjZUVudGl0eVZlcnNpb25IYXNoXxASTlNTb3VyY2VFeHByZXNzaW9ugD6APIACgASAO4A9gAGAA4AcVlBlcnNvbk8QIAMD
        AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDTxAgBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBATTABMAFAAVABYAFwC9gETTABMA
        HQAUAB4AvwAggEZXYWdlID4gM9MAEwAdABQAHgDCACCASNIAEwApACoAxKIAxQDGgEeASdUAEwAyABQAMwA0ADUAyAA3AMkAyoBLgEWAStMAEwAU
        ABUAFgAXAMyATdMAEwAUAEMARABFAM6AUNIAEwApACoA0KEA0YBR1QATADIAFAAzADQATgDTADcA1ADVgFKAToBP1QATAFYAFABXAFgAWQBaAFsA
        1wDYgEyAU9IADQAOANoA26IA2wARXxARTlNCbG9ja0V4cHJlc3Npb27SABMAFADdAN6AVRATU29kZNUAEwBuAG8AcABxAHIA4QB0AHQA4oBXgFbT
        ABMAFAAVABYAFwDkgFlUY2Fyc9MAEwAdABQAHgDnACCAW9MAEwAUABUAFgAXAOmAXdMAEwAUAEMARABFAOuAYNIAEwApACoA7aEA7oBh1QATADIA
        FAAzADQATgDwADcA8QDygGKAXoBfXxA/ZGVzdGluYXRpb25JbnN0YW5jZXNGb3JTb3VyY2VSZWxhdGlvbnNoaXBOYW1lZDpzb3VyY2VJbnN0YW5j
        ZXM60gATACkAKgD1ogD2APeAXIBj1QATADIAFAAzADQANQD5ADcA+gD7gGWAWoBk1QATAG4AbwBwAHEAcgD9AHQAdAD+gGeAZlpBcHAuUG9saWN5
        V3ZlcnNpb25RM9IADQAOAQMBBKIBBAARXE5TRGljdGlvbmFyedMAEwEGACkBBwEIAQpXTlMua2V5c4BsoQEJgGqhAQuAa9IAEwApACoBDaEBDoBY
        0gATACkAKgEQoQERgGjcABMApgCnAKgAqQCqAKsArACtAK4ArwBwALABEwEUARUBFgEXARgBGQEaARsBHAEdgG+AQYBDgGmAbhABgHCAQIBCgFSA
        bVVNYWtlck8QIAUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUF0gATACkAKgEhoNIAEwApACoBI6DcABMApgCnAKgAqQCqAKsArACtAK4A
        rwBwALABJQEmAScAdAEoABcBKQB0AHQAdAB0gHWAcoBzgHSAdtIAEwApACoBK6MBLAEtAS6AP4BxgHfSAA0ADgEwATGiATEAEV5OU01hcHBpbmdN
        b2RlbNMAEwEzATQBNQE2AHRfEBBOU0VudGl0eU1hcHBpbmdzXxAWTlNFbnRpdHlNYXBwaW5nc0J5TmFtZYB5gHjRATgBOVRyb290gHoSAAGGoAAI
        ABkAIwAsADEAOgBMAUUBSwFPAXIBlQGdAaYBrwG6Ab8B1gHfAewB8wIGAhECEwIVAhcCIAIlAkECTgJgAmICZAJmAnQCgQKDArcCwALFAs0C1gLh
        AuMC6ALqAuwC9QL6AxEDJgMyAzwDSwNNA08DUQNTA1UDXANpA2sDfgOAA4kDjgOtA7oDxAPGA8gDygPTA9YD2APhA+YD/AQRBBMEFQQXBBkEIgQn
        BEIEVwRpBHgEigSMBI0EjwSRBJMEoASiBKkEtgS4BMEExATGBNsE3QTfBOEE6gTvBQMFGAU0BUsFVgVqBWwFbgVwBXIFeAWNBY8FnAWeBa0FugW8
        BckFywXRBd4F4AXpBewF7gYDBgUGBwYJBkYGTwZUBlYGWAZtBm8GcQZzBogGigaMBpIGpwapBrIGuwbABsIGxAbNBtIG1AbWBt8G5Ab2BycHPQdX
        B3gHmwepB7cH0AflCAEIFggYCBoIHAgeCCAIIggkCCYIKAgvCFIIdQiCCIQIkQiTCJsIqAiqCLMIuAi6CLwI0QjTCNUI1wjkCOYI8wj1CP4JAQkD
        CRgJGgkcCR4JMwk1CTcJQAlFCVkJYglkCWYJagl/CYEJgwmQCZIJlwmkCaYJswm1CcIJxAnNCdAJ0gnnCekJ6wntCi8KOAo9Cj8KQQpWClgKWgpc
        CnEKcwp1CoAKiAqKCpMKmAqlCrIKugq8Cr8KwQrECsYKzwrSCtQK3QrgCuILEwsVCxcLGQsbCx0LHwshCyMLJQsnCykLLwtSC1sLXAtlC2YLlwuZ
        C5sLnQufC6ELqguxC7MLtQu3C8ALxQvUC+EL9AwNDA8MEQwWDBsMHQAAAAAAAAICAAAAAAAAATsAAAAAAAAAAAAAAAAAAAwi
        """

    private func load(_ bytes: Data) throws -> MappingModel {
        let folder = try MappingFolder()
        try bytes.write(to: URL(fileURLWithPath: folder.path("V2toV3.cdm")))
        return try folder.load("V2toV3.cdm")
    }

    @Test("A property with two different mappings is refused")
    func mappedTwice() throws {
        var bytes = try #require(Data(base64Encoded: archive, options: .ignoreUnknownCharacters))
        let maker = try #require(bytes.range(of: Data("maker".utf8)))
        bytes.replaceSubrange(maker, with: Data("owner".utf8))
        let error = #expect(throws: FerryError.self) { try load(bytes) }
        #expect(error?.code == .badMapping && error?.message.contains("maps the relationship \"owner\" twice") == true)
    }

    @Test("A compiled mapping model is read unchanged, without automatic parts")
    func reading() throws {
        let bytes = try #require(Data(base64Encoded: archive, options: .ignoreUnknownCharacters))
        let model = try load(bytes)
        #expect(model.name == "V2toV3")
        #expect(model.fingerprint == SHA256.hash([UInt8](bytes)))
        #expect(model.entityMappings.map(\.name) == ["CarToCar", "PersonToPerson", "Maker"])
        #expect(model.entityMappings.allSatisfy { !$0.isAutomatic })

        let car = model.entityMappings[0]
        #expect(car.filter == nil)
        #expect(car.attributes == ["number": .value(try Expression.parse("$source.number")), "color": .empty])
        #expect(
            car.relationships == [
                "owner": .destinations(ofMapping: "PersonToPerson", from: try Expression.parse("$source.owner")),
                "maker": .empty,
            ])

        let person = model.entityMappings[1]
        #expect(person.filter == (try Predicate.parse("age > 3")))
        #expect(person.policyClassName == "App.Policy")
        #expect(person.userInfo == ["version": "3"])
        #expect(person.relationships == ["cars": .destinationsOfAnyMapping(from: try Expression.parse("$source.cars"))])
        #expect(person.unreadable.map(\.part) == ["the expression of attribute \"odd\""])

        #expect(
            model.sourceHashes == ["Car": Array(repeating: 1, count: 32), "Person": Array(repeating: 3, count: 32)])
        #expect(model.destinationHashes.keys.sorted() == ["Car", "Maker", "Person"])
    }

    @Test("The models of a compiled mapping model are identified by their hashes")
    func hashes() throws {
        let model = try load(try #require(Data(base64Encoded: archive, options: .ignoreUnknownCharacters)))
        var (source, destination) = (model.sourceHashes, model.destinationHashes)
        source["Unmapped"] = Array(repeating: 9, count: 32)
        #expect(model.agrees(withSource: source, destination: destination) == true)
        destination["Car"]?[0] ^= 1
        #expect(model.agrees(withSource: source, destination: destination) == false)
        #expect(mappingModel([]).agrees(withSource: source, destination: destination) == nil)
    }

    @Test("Truncated or changed bytes are refused or read, and never crash")
    func damage() throws {
        let bytes = try #require(Data(base64Encoded: archive, options: .ignoreUnknownCharacters))
        let folder = try MappingFolder()
        for length in stride(from: 8, to: bytes.count, by: 97) {
            #expect(throws: FerryError.self) { try load(bytes.prefix(length)) }
        }
        for position in stride(from: 8, to: bytes.count, by: 31) {
            var changed = bytes
            changed[position] ^= 0x55
            try changed.write(to: URL(fileURLWithPath: folder.path("V2toV3.cdm")))
            if let error = folder.error(of: "V2toV3.cdm") { #expect(error.code == .badMapping, "\(error)") }
        }
    }
}
